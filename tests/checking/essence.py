"""Tests that the gate must never be without, by room: what a newcomer meets first, and what would hurt most."""

ESSENCE = (
    # one real Spark: equal answers, an end that leaves nothing, a kill
    "spark/test_same_as_kernel.py::test_same_answers_types_late_rows_and_errors",
    "spark/test_same_as_kernel.py::test_provisional_answers_are_those_of_the_kernel",
    "spark/test_same_as_kernel.py::test_our_operators_give_the_same_inside_spark",
    "spark/test_same_as_kernel.py::test_same_answers_with_a_table",
    "spark/test_query_files.py::test_query_file_on_spark",
    "spark/test_life.py::test_answers_come_while_the_source_goes_on",
    "spark/test_life.py::test_stop_ends_it_and_leaves_nothing_behind",
    "spark/test_life.py::test_spark_errors_are_one_clear_message",
    "spark/test_restart.py::test_killed_query_goes_on_from_its_checkpoint",
    # one real JupyterLab: a chart that moves, stops while a cell sleeps, and is in the saved file
    "browser/test_tutorial.py::test_the_first_chart_moves_stops_while_a_cell_sleeps_and_stays_in_the_file",
    "browser/test_drawings.py::test_a_saved_page_draws_without_kernel_or_network_and_shows_markup_as_text",
    "browser/test_drawings.py::test_vs_code_shows_either_the_live_view_or_its_picture_in_its_own_colours",
    # what a newcomer meets
    "tutorials/test_notebooks.py::test_notebook_runs_from_top_to_bottom_and_its_solutions_are_right",
    "tutorials/test_readme.py::test_first_query_of_the_readme_gives_rows",
    "tutorials/test_reference.py::test_examples_run",
    "tutorials/test_faq.py::test_the_examples_run_in_order",
    "tutorials/test_errors.py::test_the_page_is_what_the_program_tells",
    # right answers
    "sql/test_query_files.py::test_query_file",
    "differential/test_calls.py::test_drawn_calls_get_sparks_values",
    "packaging/test_package_list.py::test_package_list_equals_the_folders",
    "packaging/test_contributing.py::test_additions_work_and_nothing_does_their_work_without_them",
)
