/* SPDX-License-Identifier: Apache-2.0 */
int plugin_answer(void) { return 42; }
