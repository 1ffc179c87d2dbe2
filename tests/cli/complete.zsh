# Types lines into an interactive zsh that has the completion of rudder, presses TAB behind each, and prints what stands on the line
# after every press; a line with dashes ends what one line came to.
#
#   zsh -f complete.zsh FOLDER_OF__rudder PRESSES LINE...
zmodload zsh/zpty zsh/datetime 2>/dev/null || { print "SKIPPED: zsh has no zpty"; exit 0 }
scripts=$1 presses=$2
shift 2
typed=$(mktemp)
trap 'rm -f $typed' EXIT
zpty -b shell 'TERM=dumb exec zsh -f -i'
tell() { zpty -w shell "$1" }
# Waits until that many lines were written.
wait_for() {
    local end=$(( EPOCHSECONDS + 60 )) text
    while (( $(wc -l <$typed) < $1 )); do
        zpty -r -t shell text || sleep 0.01
        (( EPOCHSECONDS < end )) || { print "no answer: $text"; exit 1 }
    done
}
tell "PROMPT= RPROMPT=; fpath=(${(q)scripts} \$fpath); autoload -Uz compinit; compinit -D -u; bindkey -e"
tell "bindkey '^I' menu-complete; setopt no_list_beep no_beep; LISTMAX=-1"
tell "write-line() { print -r -- \"\$BUFFER\" >>${(q)typed} }; zle -N write-line; bindkey '^O' write-line; print ready >>${(q)typed}"
wait_for 1
lines=1
for line in "$@"; do
    zpty -w -n shell $'\C-u'"$line"
    repeat $presses; do
        zpty -w -n shell $'\t\C-o'
        wait_for $(( ++lines ))
    done
    zpty -w -n shell $'\C-u---\C-o'
    wait_for $(( ++lines ))
done
zpty -d shell
tail -n +2 $typed
