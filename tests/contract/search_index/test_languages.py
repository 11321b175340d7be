"""Words are found again in languages that neither put spaces between them nor leave them as they
are.
"""

import pytest

from tests.contract.search_index.builders import SPACE, Part, Place, document, somebody
from tests.doubles.owned_index import OwnedIndex

FOUND = {
    "German": {
        "Unsere Krankenversicherung übernimmt die Kosten der Zahnreinigung.": [
            "Versicherung",
            "zahnreinigungen",
        ],
        "Der Hausschlüssel liegt unter dem Blumentopf neben der Treppe.": [
            "Schlüssel",
            "Blumentöpfe",
        ],
        "Lena arbeitet seit drei Jahren als Softwareentwicklerin in Hamburg.": [
            "Entwicklerin",
            "Softwareentwicklung",
        ],
        "Am Wochenende fahren wir mit dem Fahrrad an die Ostsee.": [
            "Fahrräder",
            "Wochenendausflug",
        ],
        "Mein Lieblingsgericht sind Kartoffelpuffer mit Apfelmus.": ["Kartoffeln", "Apfel"],
        "Die Steuererklärung muss bis Ende Juli beim Finanzamt sein.": ["Steuer", "Finanzämter"],
    },
    "Chinese": {
        "我住在北京，每天坐地铁上班。": ["地铁", "你住在哪个城市？北京"],
        "我的猫叫小黑，今年三岁。": ["猫", "小黑几岁"],
        "妈妈的生日是五月十二号，她喜欢百合花。": ["生日", "妈妈喜欢什么花"],
        "我对花生过敏，不能吃含花生的东西。": ["过敏", "花生"],
        "下周三我要去上海出差，住在外滩附近的酒店。": ["出差", "酒店"],
        "他在一家人工智能公司当软件工程师。": ["工程师", "人工智能"],
    },
    "Japanese": {
        "私は東京でソフトウェアエンジニアとして働いています。": ["エンジニア", "東京で働く"],
        "妹の誕生日は七月三日です。": ["誕生日", "妹"],
        "猫を二匹飼っていて、名前はミケとタマです。": ["猫の名前", "ミケ"],
        "蕎麦アレルギーがあるので、そばは食べられません。": ["アレルギー", "そば"],
        "来月、京都へ旅行に行く予定です。": ["旅行", "京都の予定"],
        "毎朝六時に起きて、公園でｼﾞｮｷﾞﾝｸﾞをします。": ["ジョギング", "何時に起きる"],
    },
    "Korean": {
        "저는 서울에서 소프트웨어 개발자로 일합니다.": ["개발자", "서울은"],
        "고양이를 두 마리 키우고 이름은 나비와 초코예요.": ["고양이는", "고양이 이름"],
        "여동생의 생일은 칠월 삼일입니다.": ["생일이 언제야", "여동생은"],
        "땅콩 알레르기가 있어서 땅콩을 먹을 수 없어요.": ["알레르기", "땅콩이"],
        "다음 주에 부산으로 출장을 갑니다.": ["출장", "부산에"],
        "좋아하는 음식은 김치찌개입니다.": ["김치", "좋아하는 음식"],
    },
    "Arabic": {
        "أَعْمَلُ مُهَنْدِسَةً في شركة بالقاهرة.": ["المهندسة", "القاهرة"],
        "عيد ميلاد أختي في الثالث من يوليو.": ["الميلاد", "اخت"],
        "لدي حساسية من الفول السوداني ولا أستطيع أكله.": ["الحساسيّة", "فول"],
        "سأسافر إلى دبي الأسبوع القادم للعمل.": ["السفر الي دبي", "أسبوع"],
        "أحب قراءة الكتب التاريخية في المساء.": ["القراءة", "كتاب تاريخ"],
        "سيارتي زرقاء وموقوفة أمام البيت.": ["السيارة", "بيت"],
    },
}


@pytest.mark.parametrize("language", FOUND)
def test_what_was_said_is_found_first(shared: Place, language: str) -> None:
    part = Part(shared, OwnedIndex(shared.open(SPACE), somebody()))
    part.put(*(document(text, text) for text in FOUND[language]))
    found = {
        query: part.words(query, k=1) for queries in FOUND[language].values() for query in queries
    }
    assert found == {
        query: [text] for text, queries in FOUND[language].items() for query in queries
    }


def test_words_of_one_language_do_not_find_another(shared: Place, part: Part) -> None:
    part.put(
        document("en", "The cat is black"),
        document("zh", "我的猫是黑色的"),
        document("ar", "القطة سوداء"),
    )
    assert (part.words("猫"), part.words("cats"), part.words("سوداء")) == (["zh"], ["en"], ["ar"])
