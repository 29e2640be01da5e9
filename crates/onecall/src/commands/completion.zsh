# Completes the names of servers, tools and users, and the ids of questions, approvals and runs, where a
# command takes some: servers as the configuration has them, tools as they were seen last.
_onecall() {
    local at names
    local -a before found
    if [[ "$PREFIX" != -* ]]; then
        # What stands before the current word and is neither an option nor its value.
        for ((at = 2; at < CURRENT; at++)); do
            case "$words[at]" in
                -c|--config|--log|--log-format|--color|--server|--tool|--detail|--limit|--lang|--out|--args|--until|--where|--arguments|--happened|--reason|--user|--group|--expires|--label)
                    ((at++)) ;;
                -*) ;;
                *) before+=("$words[at]") ;;
            esac
        done
        case "$before" in
            remove|remove\ *|enable|enable\ *|disable|disable\ *|pin|login|logout|logs) names=server-names ;;
            call|tools\ show|tools\ forget) names=tool-names ;;
            approvals\ show*|approvals\ approve*|approvals\ deny*) names=question-ids ;;
            approvals\ revoke*) names=grant-ids ;;
            resume|cancel) names=unfinished-run-ids ;;
            users\ remove|users\ token|users\ tokens) names=user-names ;;
        esac
        case "$words[CURRENT-1]" in
            --server) names=server-names ;;
            --tool) names=tool-names ;;
            --user) names=user-names ;;
        esac
    fi
    if [[ -z "$names" ]]; then
        _onecall_options "$@"
        return
    fi
    # Names are never evaluated, whatever is in them.
    found=("${(@f)$(command "${(Q)words[1]}" "$names" 2>/dev/null)}")
    found=(${found:#})
    compadd -a found
}

