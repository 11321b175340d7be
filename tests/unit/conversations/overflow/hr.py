"""The conversation that memory is tried on: Sarah from Marketing asks about remote work, in two
wordings.
"""

from palimpsest.conversations.message import Chat

FORMAL: tuple[Chat, ...] = (
    {
        "role": "user",
        "content": "Hi! I'm Sarah from Marketing. Could you tell me about our remote work policy?",
    },
    {
        "role": "assistant",
        "content": "Hello Sarah! I'd be happy to help. Employees can work remotely up to 3 days a "
        "week, provided their "
        "manager approves the arrangement. The remaining days are spent in the office so that "
        "teams meet in person.",
    },
    {"role": "user", "content": "Great. Am I eligible? I've been with the company for 2 years."},
    {
        "role": "assistant",
        "content": "To be eligible you need at least 6 months of tenure and a record of good "
        "performance. With 2 years "
        "at the company you meet the first requirement, so all should be well as long as your "
        "reviews are good.",
    },
    {"role": "user", "content": "How do I apply?"},
    {
        "role": "assistant",
        "content": "Fill in form HR-101, which is on the intranet under Human Resources. Once "
        "completed, send it to "
        "your manager for approval. HR then processes it, usually within a few days.",
    },
    {"role": "user", "content": "What happens if my manager declines the request?"},
    {
        "role": "assistant",
        "content": "If your manager declines, ask for the reasons in writing first. You can then "
        "discuss it with your "
        "HR business partner, who may mediate. As a last step you can appeal to the department "
        "head.",
    },
    {"role": "user", "content": "And does the company provide equipment for home?"},
    {
        "role": "assistant",
        "content": "Yes. You get a laptop, a monitor and a headset. There is also a one-time "
        "allowance of $300 for an "
        "ergonomic chair. Please keep the receipt and submit it through the expense system.",
    },
    {
        "role": "user",
        "content": "Could I also work from abroad for a while? My family lives in Portugal.",
    },
    {
        "role": "assistant",
        "content": "Working abroad is possible for up to 2 weeks a year. You have to ask 30 days "
        "in advance so that "
        "tax and security can be checked. Is there anything else I can help you with?",
    },
    {"role": "user", "content": "No, that's all. Thank you so much!"},
    {"role": "assistant", "content": "You're welcome, Sarah! Good luck with your application."},
)
FORMAL_FACTS = (
    "Sarah",
    "Marketing",
    "2 years",
    "3 days",
    "6 months",
    "HR-101",
    "$300",
    "2 weeks",
    "30 days",
)

CHATTY: tuple[Chat, ...] = (
    {
        "role": "user",
        "content": "hey, im sarah from marketing\nquick one about home office, how does it work "
        "here?",
    },
    {
        "role": "assistant",
        "content": "Hi Sarah!\n\n**Remote work in short**\n- Up to three days per week from "
        "home\n- Your manager must "
        "approve it\n\nWould you like to know whether you qualify?",
    },
    {"role": "user", "content": "yes please, i've been here for two years"},
    {
        "role": "assistant",
        "content": "Then you qualify: the rule is six months' tenure plus good performance. The "
        "form is called HR-101.",
    },
    {"role": "user", "content": "ok and if she says no? my boss i mean"},
    {
        "role": "assistant",
        "content": "Ask for written reasons, then involve your HR partner; the last resort is an "
        "appeal.",
    },
    {"role": "user", "content": "do i get money for furniture"},
    {
        "role": "assistant",
        "content": "There's a chair allowance of $300. The desk is yours to buy, I'm afraid.",
    },
    {"role": "user", "content": "and from spain?"},
    {"role": "assistant", "content": "Abroad it is two weeks a year, with thirty days' notice."},
    {"role": "user", "content": "thx!!"},
    {"role": "assistant", "content": "Any time. Enjoy your day!"},
)
CHATTY_FACTS = (
    "sarah",
    "marketing",
    "two years",
    "three days",
    "six months",
    "HR-101",
    "$300",
    "two weeks",
    "thirty days",
)
