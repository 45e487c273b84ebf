from tests.readme import param_table, shown_table


def test_the_table_of_params_is_current() -> None:
    assert shown_table() == param_table(), "run: python -m tests.readme"
