"""Scripts that complete the commands and options of `wengert` in a shell, written from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def completion_script(shell: str, options: argparse.ArgumentParser) -> str:
    """The script for bash, zsh or fish."""
    return SCRIPTS[shell](command_options(options))


def command_options(options: argparse.ArgumentParser) -> dict[str, tuple[str, list[str]]]:
    """By command: what it does, and its options."""
    commands = next(action for action in options._actions if isinstance(action, argparse._SubParsersAction))
    return {
        name: (made.description or "", [flag for action in made._actions for flag in action.option_strings])
        for name, made in commands.choices.items()
    }


def bash_script(commands: dict[str, tuple[str, list[str]]]) -> str:
    """The words of the command line decide: first a command, then its options and files."""
    cases = "\n".join([f'    {name}) words="{" ".join(flags)}" ;;' for name, (_, flags) in commands.items()])
    return f"""_wengert() {{
  local words="{" ".join(commands)} --help --version"
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{" ".join(commands)} --help --version"
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _wengert wengert"""


def zsh_script(commands: dict[str, tuple[str, list[str]]]) -> str:
    """That of bash, by zsh's own emulation."""
    return (
        f"autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n{bash_script(commands)}"
    )


def fish_script(commands: dict[str, tuple[str, list[str]]]) -> str:
    """One line for each command, and for each option."""
    lines = []
    for name, (text, flags) in commands.items():
        description = text.replace("'", "\\'")
        lines.append(f"complete -c wengert -n __fish_use_subcommand -a {name} -d '{description}'")
        lines += [
            f"complete -c wengert -n '__fish_seen_subcommand_from {name}' -l {flag[2:]}"
            for flag in flags
            if flag.startswith("--")
        ]
    return "\n".join(lines)


SCRIPTS: dict[str, Callable[[dict[str, tuple[str, list[str]]]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
