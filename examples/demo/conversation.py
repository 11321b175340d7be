"""The conversation that the demo shows: Sarah from Marketing asks the HR assistant about working
from home.
"""

from typing import Any

USER = "sarah"
SYSTEM = "You are the HR assistant. Answer from the staff handbook, in a sentence or two."

BUDGET = 500  # tokens: so few that a short conversation overflows them twice
TRIGGER_RATIO = 0.7
KEPT_TURNS = 2
MEMORY = {
    "strategy": "summarize",
    "max_tokens": BUDGET,
    "trigger_ratio": TRIGGER_RATIO,
    "keep_recent_turns": KEPT_TURNS,
    "blocks": [],
}

POLICY = "Remote work needs the manager's approval and 6 months with the company: staff handbook, section 7."
FLUSHED: dict[str, Any] = {
    "strategy": "flush",
    "max_tokens": 640,
    "max_stm_token_ratio": 0.47,
    "keep_recent_turns": KEPT_TURNS,
    "blocks": [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}],
}

TURNS = (
    (
        (
            "Hi, I'm Sarah and I work in Marketing. Some of my team stay at home on Fridays. What are "
            "the rules for that?"
        ),
        (
            "Hello Sarah! You may work remotely up to 3 days a week, as long as your manager approves "
            "the days."
        ),
    ),
    (
        "Good. Can anybody do that, or do I have to wait for something?",
        (
            "You need 6 months with the company and a good last performance review. Then you are "
            "eligible."
        ),
    ),
    (
        "I joined 2 years ago, and my last review was very good.",
        "Then you are eligible, Sarah: 2 years is well over the 6 months, and your review counts.",
    ),
    (
        "Great! How do I apply?",
        (
            "Fill in form HR-101 with the weekdays that you want, and hand it to your manager, who has "
            "10 days to answer."
        ),
    ),
    (
        "And what if my manager declines?",
        (
            "Then you get the reason in writing. You may talk to your HR partner, and apply again "
            "after 3 months."
        ),
    ),
    (
        "My back hurts after a day at the kitchen table. Is there money for equipment?",
        (
            "Yes, there is an allowance of $300 for an office chair. IT lends you a monitor and a "
            "keyboard."
        ),
    ),
    (
        "I found a chair for $280. Do I buy it myself?",
        (
            "Buy it and hand in the receipt with form HR-115. The $280 come with your next salary, "
            "within the allowance."
        ),
    ),
    (
        "One more thing: my parents live in Lisbon. May I work from there for a while?",
        (
            "You may work from abroad for 2 weeks a year. Tell us 30 days ahead, because of tax and "
            "insurance."
        ),
    ),
    (
        "So for the first two weeks of August I should write to you at the end of June?",
        (
            "Exactly. By the end of June is early enough, and name the address in Lisbon in your "
            "message."
        ),
    ),
    (
        "Perfect. I will hand in HR-101 today, for Tuesdays and Fridays.",
        "Good choice, Sarah. Your manager gets a note as soon as the form is in.",
    ),
)

LAST_QUESTION = "Before I go: what do you know about me, and what do I have to do now?"

LATER_QUESTIONS = (
    "Hello again! Am I eligible for remote work, with my 2 years here?",
    "Which form do I need to fill in?",
    "May I work from Portugal?",
    "What is my blood type?",
)
CORRECTIONS = ("I live in Hamburg.", "I moved to Bremen.")
