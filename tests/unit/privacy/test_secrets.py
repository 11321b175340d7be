"""What a secret is, and what only looks like one."""

from __future__ import annotations

import time

import pytest
from palimpsest.privacy.secrets import holds_secret, masked, secrets
from palimpsest.privacy.values import MASK

SAID = [
    ("My password is hunter2sesame.", "hunter2sesame"),
    ("my wifi password is correct horse battery staple", "correct horse battery staple"),
    ("The password is swordfish, don't tell Bob.", "swordfish"),
    ("The Netflix password is Sunflower!", "Sunflower"),
    ('The password is "so long"', "so long"),
    ("The password for the router at home is Tulpe-77.", "Tulpe-77"),
    ("Password: S3cr3t!pass", "S3cr3t!pass"),
    ("password = tr0ub4dor&3", "tr0ub4dor&3"),
    ("I changed my password to Winter#2025", "Winter#2025"),
    ("u: admin p: hunter2", "hunter2"),
    ("You can log in as rita with hunter2banana.", "hunter2banana"),
    ("Just press 71294 on the keypad by the side door.", "71294"),
    ("The code to my bike lock happens to be 3-9-1-7 now.", "3-9-1-7"),
    ("Mein WLAN-Schlüssel: Regenbogen-4711", "Regenbogen-4711"),
    ("Einloggen kannst du dich mit Mohnblume!7.", "Mohnblume!7"),
    ("Tippe 3391 am Tastenfeld ein.", "3391"),
    ("Pour entrer, tape 58B21 sur le digicode.", "58B21"),
    ("Sur ce site je me connecte avec Belette!77.", "Belette!77"),
    ("Al portal accedo siempre con Gorrion_31.", "Gorrion_31"),
    ("Marca 5583 en el teclado de la puerta.", "5583"),
    ("My Netflix login is bob@example.com with Giraffe!88", "Giraffe!88"),
    ("remember my creds: tina@mail.com:Hearts4ever", "Hearts4ever"),
    ("to unlock my phone type 258013", "258013"),
    ("use swordfish as the password", "swordfish"),
    ("I reused the password rainbowfish on every site", "rainbowfish"),
    ("the password? it's openSesame!", "openSesame"),
    ("The garage keypad takes 5567", "5567"),
    ("my bike lock is set to 4-1-7-9", "4-1-7-9"),
    ("safe combination: 12 left, 33 right, 7 left", "33 right"),
    ("Code für das Zahlenschloss 0734", "0734"),
    ("mein Handy entsperrt man mit 2580", "2580"),
    ("code d'entrée de l'immeuble 45B78", "45B78"),
    ("la clé wifi est 9F3A77C2D1", "9F3A77C2D1"),
    ("el código del portal es 1590", "1590"),
    ("I use kitten42 as my password everywhere.", "kitten42"),
    ("hunter2 is my password", "hunter2"),
    ("Log in with user bob and password Gr8Scott.", "Gr8Scott"),
    ("My login credentials are admin / Tr33house!", "Tr33house"),
    ("my old password was bluemoon99, the new one is greenmoon11", "bluemoon99"),
    ("My PIN is 4711.", "4711"),
    ("the pin for my card: 0815", "0815"),
    ("My debit card PIN is 7394, in case I forget.", "7394"),
    ("Your verification code is 482913.", "482913"),
    ("The one-time code is 93 81 22", "93 81 22"),
    ("the door code is 4711#", "4711#"),
    ("My alarm code is 9921", "9921"),
    ("safe combination: 12-34-56", "12-34-56"),
    ("CVV 123 is wrong, the cvv is 987", "987"),
    ("My API key is 3f9a8b7c6d5e4f3a2b1c", "3f9a8b7c6d5e4f3a2b1c"),
    ("our secret token is Zx81-spectrum-48k", "Zx81-spectrum-48k"),
    ("My seed phrase is apple banana cherry dog elephant fox", "banana cherry dog"),
    ("recovery code: 8f3k-22lm-99zz", "8f3k-22lm-99zz"),
    ("Mein Passwort lautet Sommer2024.", "Sommer2024"),
    ("mein Passwort ist schmetterling", "schmetterling"),
    ("Das WLAN-Passwort ist Gartenzwerg!", "Gartenzwerg"),
    ("Das Passwort fürs WLAN heißt Kaktus99", "Kaktus99"),
    ("Ich habe mein Passwort auf Herbst#77 geändert.", "Herbst#77"),
    ("Meine Geheimzahl ist 5521.", "5521"),
    ("Mein PIN-Code lautet 1234", "1234"),
    ("Die TAN ist 884211", "884211"),
    ("Dein Bestätigungscode: 661188", "661188"),
    ("Der Türcode ist 2580", "2580"),
    ("Mon mot de passe est Soleil2024.", "Soleil2024"),
    ("Le mot de passe du wifi, c'est tournesol", "tournesol"),
    ("mdp : chatnoir9", "chatnoir9"),
    ("Mon code PIN est 8642", "8642"),
    ("Le digicode est 12B45", "12B45"),
    ("Votre code de vérification est 552211", "552211"),
    ("Mi contraseña es girasol77.", "girasol77"),
    ("la contraseña del wifi es mariposa", "mariposa"),
    ("La clave del wifi es Verano2023", "Verano2023"),
    ("Mi PIN es 9090", "9090"),
    ("El código de verificación es 314159", "314159"),
    ("482913 is your verification code", "482913"),
    ("Use code 774422 to verify your login", "774422"),
    ("The admin password's been changed to Zebra!9", "Zebra!9"),
    ("Der Code für die Alarmanlage ist 4477", "4477"),
    ("schreib ihr einen zettel: alarmanlage code 9041, katze abends füttern", "9041"),
    ("Meine PIN ist die 9911", "9911"),
    ("user: bob, pass: s3cret", "s3cret"),
    ("Le code de la porte est 5512", "5512"),
    ("El código de la puerta es 7722", "7722"),
]
SHAPES = [
    ("Use AKIA" + "IOSFODNN7EXAMPLE for S3.", "IOSFODNN7EXAMPLE"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("token ghp_" + "a1" * 18, "ghp_a1"),
    ("glpat-" + "x1" * 12, "x1x1"),
    ("sk-" + "ant-api03-" + "a1B2" * 20, "a1B2"),
    ("sk_" + "live_" + "a1B2c3" * 10, "a1B2c3"),
    ("xoxb-" + "123456789012-abcdef12345", "abcdef12345"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM", "SflKxwRJSM"),
    ("postgres://sarah:hunter2sesame@db.example/x", "hunter2sesame"),
    ("redis://:opensesame1@cache:6379/0", "opensesame1"),
    ("Server=db;User Id=sa;Password=Str0ngP@ss;", "Str0ngP@ss"),
    ("DB_PASSWORD=hunter2sesame", "hunter2sesame"),
    ("export OPENAI_API_KEY='abc123def456ghi789'", "abc123def456ghi789"),
    ('{"client_secret": "q1w2e3r4t5"}', "q1w2e3r4t5"),
    ("Authorization: Bearer abcdef1234567890abcdef", "abcdef1234567890abcdef"),
    ("curl -H 'X-Api-Key: 9f8e7d6c5b4a'", "9f8e7d6c5b4a"),
    ("https://x.blob.core.windows.net/a?sv=1&sig=aB3dE5fG7hJ9", "aB3dE5fG7hJ9"),
    (
        "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIabc\nDEFghi\n-----END RSA PRIVATE KEY-----",
        "DEFghi",
    ),
    ("My card is 4111 1111 1111 1111, valid 12/27.", "4111 1111"),
    ("5555555555554444 exp 09/28", "5555555555554444"),
    ("amex 3782 822463 10005", "822463"),
    ("IBAN DE89 3704 0044 0532 0130 00 bitte", "0532 0130"),
    ("die IBAN lautet DE02 7001 0080 0412 3456 78, wohin damit?", "0412 3456"),
    ("iban GB00 WEST 1234 5698 7654 32", "5698 7654"),
    ("the alarm code is Mirabelle7729", "Mirabelle7729"),
    ("le code de l'alarme c'est Mirabelle7729, et fermer le rideau", "7729"),
    ("exp 09/28, the three digits are 737", "737"),
    ("gb82west12345698765432", "west1234"),
    ("mon IBAN : FR14 2004 1010 0505 0001 3M02 606", "3M02"),
]


@pytest.mark.parametrize(("text", "secret"), SAID + SHAPES)
def test_a_secret_is_masked(text: str, secret: str) -> None:
    for around in (text, f"Hi there.\n{text}\nI live in Bonn."):
        assert secret in around
        shown = masked(around)
        assert secret not in shown
        assert MASK in shown
        assert masked(shown) == shown
        assert not holds_secret(shown)
    assert masked(f"{text}\nI live in Bonn.").endswith("I live in Bonn.")


HARMLESS = [
    "I logged in with my iPhone 15.",
    "Sign in with Google.",
    "Type 42 into the search box.",
    "Enter room 12B at the end of the hall.",
    "Melde dich mit deinem Namen an.",
    "My password is too weak.",
    "I forgot my password.",
    "I forgot my password and my cat is called Rex.",
    "The password reset link is not working, I clicked it twice.",
    "My password manager is Bitwarden.",
    "I keep my passwords in 1Password.",
    "My password is 12 characters long.",
    "The password must contain 8 characters.",
    "My password is stored in KeePass.",
    "My password is wrong again.",
    "Is my password safe?",
    "My password is hard to remember.",
    "The new password is my own idea.",
    "Password: required",
    "The secret is patience.",
    "My PIN is 4 digits long.",
    "The pin is loose.",
    "The museum opens with 300 paintings.",
    "My shop opens at 0900.",
    "My locker number is 7741.",
    "My safe is from 1998.",
    "I log in with Google.",
    "I study cryptography, RSA2048 is my favourite.",
    "Our passwords rotate every 90 days.",
    "I like pin code lettering from 1920.",
    "My zip code is 24103.",
    "The error code is 404.",
    "My phone is 0228 123456.",
    "Call me at +49 170 1234567 or 555-123-4567.",
    "Order 4111 1111 1111 1112 came.",
    "My order number is 4111111111111111.",
    "ISBN 978-3-16-148410-0 is my book.",
    "ISBN 9783161484100",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "The id is 550e8400-e29b-41d4-a716-446655440000.",
    "mem_0123456789abcdef0123456789abcdef was deleted.",
    "msg 1732379565123456",
    "My flight is LH1234 on 2026-05-03.",
    "I'm a task-runner fan.",
    "I use sk-learn-contrib for models of my company.",
    "He is the bearer of bad news.",
    "The access token expires after 3600 seconds.",
    "Tokens cost 0.5 cents each and my budget is 20 dollars.",
    "My token of appreciation is a cake.",
    "The key is under the mat.",
    "My favourite key is F sharp minor.",
    "See https://example.com/a?page=2&code=de for more.",
    "Mein Passwort ist abgelaufen.",
    "Ich habe mein Passwort vergessen.",
    "Das Passwort ist falsch.",
    "Mein Passwort ist 12 Zeichen lang.",
    "Meine Postleitzahl ist 53111.",
    "J'ai oublié mon mot de passe.",
    "Mon mot de passe est trop court.",
    "Le code postal est 75001.",
    "Olvidé mi contraseña.",
    "Mi contraseña es muy débil.",
    "La clave es la paciencia.",
    "La clave del éxito es trabajar mucho.",
    "El código postal es 28001.",
    "I live in Kiel since 2019 and my daughter was born in 2021.",
    "API_KEY=your_api_key_here",
    "password = os.environ['DB_PASSWORD']",
    "My login is broken since Monday.",
    "IBAN stands for International Bank Account Number.",
    "The combination of rice and beans is great.",
    "I work on passwordless login for 3 years.",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert masked(text) == text
    assert list(secrets(text)) == []


@pytest.mark.parametrize(
    "unit",
    ["xoxb-1-", "password is ", "password ", "my pin ", "KEY=", "a_key: x ", "DE89 ", "4111 ",
     "Bearer ", "x is my ", "token (", "login: a / ", "-----BEGIN PRIVATE KEY-----"],
)  # fmt: skip
def test_masking_takes_time_in_proportion_to_the_text(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    begun = time.process_time()
    masked(text)
    assert time.process_time() - begun < 8  # of a slow machine; a quadratic one takes minutes
