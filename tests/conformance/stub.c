#include "suite.h"
const struct conf_case conf_lock_fault_cases[]={{0}},conf_lock_death_cases[]={{0}};
