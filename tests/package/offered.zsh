# Prints what zsh offers behind the words $2, with the scripts of the folder $1:
# types them and a tab into a zsh of its own, whose compadd tells what it adds
# (with -O, -A or -D it adds nothing).
zmodload zsh/zpty
zpty shell zsh -f -i
setup='
PS1= PS2=
fpath=("'$1'" $fpath); autoload -U compinit; compinit -u -D
comppostfuncs=(finish)
finish() { print -r -- "<end>"; compstate[insert]= compstate[list]= }
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a offered
  builtin compadd -A offered "$@"
  (( $#offered )) && print -rl -- "<offered>"$^offered
  builtin compadd "$@"
}
bindkey "^I" complete-word
print -r -- "<rea""dy>"
'
zpty -w shell "$setup"
zpty -r -m shell seen '*<ready>*'
zpty -w -n shell "$2"$'\t'
zpty -r -m shell seen '*<end>*'
print -r -- "$seen"
zpty -d shell
