"""The first difference between two transcripts of a scenario, in words."""
from . import normal_form

NOTHING = normal_form.Step("nothing more", 0)


def _side(name, step):
    return f"  {name}: {step.text}" + (f" (line {step.line})" if step.line else "")


def first_difference(one, other, names=("the real library", "the double")):
    """None if there is none. `one`, `other`: events."""
    forms = [normal_form.of_events(events) for events in (one, other)]
    for heading in [*forms[0], *(heading for heading in forms[1] if heading not in forms[0])]:
        steps = [form.get(heading, []) for form in forms]
        for number in range(max(map(len, steps))):
            pair = [of_side[number] if number < len(of_side) else NOTHING for of_side in steps]
            if pair[0].text != pair[1].text:
                return f"{heading}, step {number + 1}:\n" + "\n".join(map(_side, names, pair))
    return None
