"""Links as in a cloud."""


def refusal():
    return "there is no such bed in this version"
