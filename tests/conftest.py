"""What all tests share: Hypothesis without a clock, since other things run on the machine too."""

from hypothesis import settings

settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")
