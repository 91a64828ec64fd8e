# SPDX-License-Identifier: Apache-2.0
graph_tests = \
	%reldir%/check_adopt %reldir%/check_build %reldir%/check_calls %reldir%/check_derivatives \
	%reldir%/check_gradient %reldir%/check_gradient_edges %reldir%/check_gradient_forms \
	%reldir%/check_gradient_operators %reldir%/check_gradient_products \
	%reldir%/check_gradient_rules \
	%reldir%/check_loss %reldir%/check_number %reldir%/check_parse \
	%reldir%/check_print %reldir%/check_random %reldir%/check_shape %reldir%/check_simplify
check_PROGRAMS += $(graph_tests)
TESTS += $(graph_tests)
tests_graph_check_adopt_SOURCES = %reldir%/check_adopt.c
tests_graph_check_adopt_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_graph_check_build_SOURCES = %reldir%/check_build.c
tests_graph_check_calls_SOURCES = %reldir%/check_calls.c
tests_graph_check_derivatives_SOURCES = %reldir%/check_derivatives.c
tests_graph_check_derivatives_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_graph_check_gradient_SOURCES = %reldir%/check_gradient.c
tests_graph_check_gradient_LDADD = tests/tape/libtape.la bench/liboracle.la $(TEST_LIBS)
tests_graph_check_gradient_edges_SOURCES = %reldir%/check_gradient_edges.c
tests_graph_check_gradient_edges_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_graph_check_gradient_forms_SOURCES = %reldir%/check_gradient_forms.c
tests_graph_check_gradient_forms_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_graph_check_gradient_operators_SOURCES = %reldir%/check_gradient_operators.c
tests_graph_check_gradient_operators_LDADD = tests/tape/libtape.la bench/liboracle.la $(TEST_LIBS)
tests_graph_check_gradient_products_SOURCES = %reldir%/check_gradient_products.c
tests_graph_check_gradient_products_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_graph_check_gradient_rules_SOURCES = %reldir%/check_gradient_rules.c
tests_graph_check_loss_SOURCES = %reldir%/check_loss.c
tests_graph_check_number_SOURCES = %reldir%/check_number.c
tests_graph_check_parse_SOURCES = %reldir%/check_parse.c
tests_graph_check_print_SOURCES = %reldir%/check_print.c
tests_graph_check_random_SOURCES = %reldir%/check_random.c
tests_graph_check_random_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_graph_check_shape_SOURCES = %reldir%/check_shape.c
tests_graph_check_simplify_SOURCES = %reldir%/check_simplify.c
