#include "cli/verb.hpp"

namespace rudder::cli {

std::vector<std::unique_ptr<Verb>> all_verbs() {
    std::vector<std::unique_ptr<Verb>> verbs;
    verbs.push_back(make_doctor_verb());
    verbs.push_back(make_bench_verb());
    verbs.push_back(make_generate_verb());
    verbs.push_back(make_import_verb());
    verbs.push_back(make_import_dgl_verb());
    verbs.push_back(make_export_verb());
    verbs.push_back(make_info_verb());
    verbs.push_back(make_partition_verb());
    verbs.push_back(make_train_verb());
    verbs.push_back(make_evaluate_verb());
    verbs.push_back(make_predict_verb());
    verbs.push_back(make_compare_verb());
    verbs.push_back(make_replay_verb());
    verbs.push_back(make_simulate_verb());
    verbs.push_back(make_explain_verb());
    verbs.push_back(make_report_verb());
    verbs.push_back(make_top_verb());
    verbs.push_back(make_agent_list_verb());
    verbs.push_back(make_agent_score_verb());
    verbs.push_back(make_agent_collect_verb());
    verbs.push_back(make_agent_train_verb());
    verbs.push_back(make_help_verb());
    verbs.push_back(make_completion_verb());
    return verbs;
}

}  // namespace rudder::cli
