
# Completes the names of servers, tools and users, and the ids of questions, approvals and runs, where a
# command takes some: servers as the configuration has them, tools as they were seen last.
_onecall_with_names() {
    _onecall "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" word at names=
    [[ "$current" == -* ]] && return 0
    # What stands before the current word and is neither an option nor its value.
    local -a before=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "${COMP_WORDS[at]}" in
            -c|--config|--log|--log-format|--color|--server|--tool|--detail|--limit|--lang|--out|--args|--until|--where|--arguments|--happened|--reason|--user|--group|--expires|--label)
                [[ "${COMP_WORDS[at+1]}" == "=" ]] && ((at++))
                ((at++)) ;;
            -*) ;;
            *) before+=("${COMP_WORDS[at]}") ;;
        esac
    done
    case "${before[*]}" in
        remove|remove\ *|enable|enable\ *|disable|disable\ *|pin|login|logout|logs) names=server-names ;;
        call|tools\ show|tools\ forget) names=tool-names ;;
        approvals\ show*|approvals\ approve*|approvals\ deny*) names=question-ids ;;
        approvals\ revoke*) names=grant-ids ;;
        resume|cancel) names=unfinished-run-ids ;;
        users\ remove|users\ token|users\ tokens) names=user-names ;;
    esac
    case "$previous" in
        --server) names=server-names ;;
        --tool) names=tool-names ;;
        --user) names=user-names ;;
    esac
    [[ -n "$names" ]] || return 0
    COMPREPLY=()
    # Names are never evaluated, whatever is in them.
    while IFS= read -r word; do
        [[ "$word" == "$current"* ]] && COMPREPLY+=("$(printf '%q' "$word")")
    done < <("${COMP_WORDS[0]}" "$names" 2>/dev/null)
    return 0
}

complete -F _onecall_with_names -o bashdefault -o default onecall
