
# Completes the names of servers, tools and users, and the ids of questions, approvals and runs, where a
# command takes some: servers as the configuration has them, tools as they were seen last.
function __fish_onecall_before
    # What stands before the current word and is neither an option nor its value.
    set -l words (commandline -opc)
    set -l before
    set -l is_value no
    for word in $words[2..-1]
        if test $is_value = yes
            set is_value no
            continue
        end
        switch $word
            case -c --config --log --log-format --color --server --tool --detail --limit --lang --out --args --until --where --arguments --happened --reason --user --group --expires --label
                set is_value yes
            case '-*'
            case '*'
                set -a before $word
        end
    end
    string join -- ' ' $before
end

function __fish_onecall_takes_server
    string match -qr '^((remove|enable|disable)( .*)?|pin|login|logout|logs)$' -- (__fish_onecall_before)
end

function __fish_onecall_takes_tool
    string match -qr '^(call|tools show|tools forget)$' -- (__fish_onecall_before)
end

function __fish_onecall_takes_question
    string match -qr '^approvals (show|approve|deny)( .*)?$' -- (__fish_onecall_before)
end

function __fish_onecall_takes_grant
    string match -qr '^approvals revoke( .*)?$' -- (__fish_onecall_before)
end

function __fish_onecall_takes_unfinished_run
    string match -qr '^(resume|cancel)$' -- (__fish_onecall_before)
end

function __fish_onecall_takes_user
    string match -qr '^users (remove|token|tokens)$' -- (__fish_onecall_before)
end

complete -c onecall -n __fish_onecall_takes_user -f -a '(onecall user-names 2>/dev/null)'
complete -c onecall -l user -x -a '(onecall user-names 2>/dev/null)' -n '__fish_seen_subcommand_from secrets logout runs audit'
complete -c onecall -n __fish_onecall_takes_question -f -a '(onecall question-ids 2>/dev/null)'
complete -c onecall -n __fish_onecall_takes_grant -f -a '(onecall grant-ids 2>/dev/null)'
complete -c onecall -n __fish_onecall_takes_unfinished_run -f -a '(onecall unfinished-run-ids 2>/dev/null)'
complete -c onecall -n __fish_onecall_takes_server -f -a '(onecall server-names 2>/dev/null)'
complete -c onecall -n __fish_onecall_takes_tool -f -a '(onecall tool-names 2>/dev/null)'
complete -c onecall -l server -x -a '(onecall server-names 2>/dev/null)' -n '__fish_seen_subcommand_from tools generate'
complete -c onecall -l tool -x -a '(onecall tool-names 2>/dev/null)' -n '__fish_seen_subcommand_from runs'
