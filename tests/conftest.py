"""What all tests share: Hypothesis without a clock, since other things run on the machine too, and fewer examples."""

from hypothesis import settings

settings.register_profile("project", deadline=None, max_examples=40, print_blob=True)
settings.load_profile("project")
