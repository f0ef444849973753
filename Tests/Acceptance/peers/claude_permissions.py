"""The rules by which a scripted Claude Code runs a call, denies it, or asks."""

import json
import os
import re
from pathlib import Path

from .claude_disk import configuration

EDITS = ("Edit", "Write", "NotebookEdit")
READS = ("Read", "Glob", "Grep", "LS", "NotebookRead")
SAFE = READS + ("WebFetch", "WebSearch")
"""Tools whose calls may be open at the same time."""
PERSONAL = ("AskUserQuestion", "ExitPlanMode")
"""Tools that a person answers, in any mode."""
READ_ONLY = re.compile(r"until \[ -e [^>$`]*\]|done|(do sleep|sleep|true|ls|cat|pwd|echo|head|tail|wc|grep|find|df|du|date|whoami|git (status|log|diff|show))\b[^>$`]*")
FILE_COMMANDS = ("rm", "touch", "mkdir", "mv", "cp", "rmdir")
PREFIXED = ("git", "npm", "make", "touch", "echo", "mkdir", "cargo", "swift")
MODES = ("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions")
SOURCES = ("session", "cliArg", "localSettings", "userSettings", "projectSettings")


def parse(text):
    found = re.fullmatch(r"([\w-]+)(?:\((.*)\))?", text.strip(), re.S)
    return (found[1], found[2]) if found else (text.strip(), None)


def split(command):
    return [part.strip() for part in re.split(r"&&|\|\||[;|]", command) if part.strip()]


def settings(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


class Permissions:
    def __init__(self, mode, allowed, cwd):
        self.cwd, self.directories = os.path.realpath(cwd), []
        user, local = settings(configuration() / "settings.json"), settings(Path(cwd) / ".claude" / "settings.local.json")
        kept = user.get("permissions", {})
        self.mode = {"manual": "default"}.get(mode, mode) or kept.get("defaultMode", "default")
        self.before = self.mode if self.mode != "plan" else "default"
        self.allows = [(*parse(text), "cliArg") for text in allowed]
        self.allows += [(*parse(text), "userSettings") for text in kept.get("allow", [])]
        self.allows += [(*parse(text), "localSettings") for text in local.get("permissions", {}).get("allow", [])]
        self.denies = [parse(text) for text in kept.get("deny", [])]

    def change(self, mode):
        if mode == "plan" and self.mode != "plan":
            self.before = self.mode
        self.mode = {"manual": "default"}.get(mode, mode)

    # Deciding

    def decide(self, name, given):
        """`("allow", None)`, `("deny", (type, message))` or `("ask", fields of the question)`."""
        if name in PERSONAL:
            return "ask", {"requires_user_interaction": True}
        if self.mode == "bypassPermissions":
            return "allow", None
        if any(tool == name and (content is None or self.covers(name, content, given)) for tool, content in self.denies):
            return "deny", ("rule", f"Permission to use {name} has been denied.")
        if name in EDITS:
            return self.decide_edit(name, given)
        if name in READS:
            return self.decide_read(name, given)
        if name == "Bash":
            return self.decide_bash(given.get("command", ""))
        if name in ("WebFetch", "WebSearch") or name.startswith("mcp__"):
            host = re.sub(r"^\w+://([^/]*).*", r"\1", given.get("url", ""))
            rule = {"toolName": name} | ({"ruleContent": f"domain:{host}"} if name == "WebFetch" else {})
            server = {"mcp_server": {"name": name.split("__")[1], "source": "project"}} if name.startswith("mcp__") else {}
            allowed = any(tool == name and content in (None, rule.get("ruleContent")) for tool, content, _ in self.allows)
            return self.ask_or_deny(name, {"permission_suggestions": [rules([rule], "localSettings")]} | server) if not allowed else ("allow", None)
        return "allow", None

    def ask_or_deny(self, name, fields):
        if self.mode == "dontAsk":
            return "deny", ("mode", f"Permission to use {name} has been denied because Claude Code is running in don't ask mode.")
        if self.mode == "auto" or (self.mode == "plan" and name == "Bash"):
            return "deny", ("classifier", f"Auto mode is unavailable: its safety check does not run for this session, so {name} was not run.")
        return "ask", fields

    def path(self, given):
        return os.path.realpath(os.path.join(self.cwd, given.get("file_path") or given.get("notebook_path") or given.get("path") or "."))

    def is_inside(self, path):
        return any(path == folder or path.startswith(folder + "/") for folder in [self.cwd, *self.directories])

    def decide_edit(self, name, given):
        path = self.path(given)
        inside = self.is_inside(path)
        switch = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
        if not inside:
            switch.append({"type": "addDirectories", "directories": [os.path.dirname(path)], "destination": "session"})
        fields = {"permission_suggestions": switch, "server_policy_ask_only": True}
        if re.search(r"/\.(git|claude)/|/\.(bashrc|zshrc|profile)$", path):
            return self.ask_or_deny(name, fields | {"decision_reason_type": "safetyCheck", "decision_reason": "This file is sensitive."})
        if any(self.covers(name, content, given) for tool, content, _ in self.allows if tool == name or (tool == "Edit" and content)):
            return "allow", None
        if inside and self.mode in ("acceptEdits", "auto"):
            return "allow", None
        if not inside:
            fields |= {"decision_reason": "Path is outside allowed working directories", "decision_reason_type": "workingDir"}
        elif self.mode == "plan":
            fields |= {"decision_reason_type": "mode"}
        return self.ask_or_deny(name, fields)

    def decide_read(self, name, given):
        path = self.path(given)
        if self.is_inside(path) or any(self.covers(name, content, given) for tool, content, _ in self.allows if tool == "Read"):
            return "allow", None
        return self.ask_or_deny(name, {
            "permission_suggestions": [rules([{"toolName": "Read", "ruleContent": f"/{os.path.dirname(path)}/**"}], "session")],
            "decision_reason": "Path is outside allowed working directories", "decision_reason_type": "workingDir", "server_policy_ask_only": True})

    def decide_bash(self, command):
        parts = split(command)
        if any(tool == "Bash" and content is None for tool, content, _ in self.allows):
            return "allow", None
        if "$" not in command and all(READ_ONLY.fullmatch(part) or self.has_rule(part) or self.is_allowed_edit(part) for part in parts):
            return "allow", None
        is_of_files = all((part.split()[0] in FILE_COMMANDS or part.startswith("echo ")) and ".." not in part and " /" not in part for part in parts)
        if self.mode in ("acceptEdits", "auto") and is_of_files:
            return "allow", None
        return self.ask_or_deny("Bash", self.suggestions(command, [part for part in parts if not READ_ONLY.fullmatch(part)]))

    def has_rule(self, part):
        for tool, content, _ in self.allows:
            if tool != "Bash" or content is None:
                continue
            prefix = re.sub(r"(:| )\*$", "", content)
            if part == content or (prefix != content and (part == prefix or part.startswith(prefix + " "))):
                return ">" not in part or content == part
        return False

    def is_allowed_edit(self, part):
        """Whether the command only reads, and writes its output to a file covered by a rule of Edit."""
        written = re.fullmatch(r"(.+?)\s*>>?\s*(\S+)", part)
        return bool(written and READ_ONLY.fullmatch(written[1])) and any(
            self.covers("Edit", content, {"file_path": written[2]}) for tool, content, _ in self.allows if tool == "Edit" and content)

    def suggestions(self, command, parts):
        if "$" in command or "`" in command:
            return {"permission_suggestions": []}
        found = []
        for part in parts:
            words = re.sub(r"\s*>+.*", "", part).split()
            content = " ".join(words[:2]) + " *" if words[:1] and words[0] in PREFIXED else part
            found.append({"toolName": "Bash", "ruleContent": content})
        fields = {"permission_suggestions": [rules(found, "localSettings")]}
        written = re.search(r">+\s*(\S+)", command) or re.search(rf"^(?:{'|'.join(FILE_COMMANDS)})\s+(?:-\S+\s+)*(\S+)", command)
        if written:
            path = os.path.realpath(os.path.join(self.cwd, written[1]))
            fields["permission_suggestions"] += [
                {"type": "addDirectories", "directories": [os.path.dirname(path)], "destination": "session"},
                {"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
            fields["blocked_path"] = path
        return fields

    def covers(self, name, content, given):
        """Whether a rule's content covers this call: `//absolute`, `/below the project`, `**` for all below."""
        if content is None:
            return True
        if name == "Bash":
            return given.get("command") == content
        pattern = content[1:] if content.startswith("//") else os.path.join(self.cwd, content.lstrip("/"))
        path = self.path(given)
        return path.startswith(pattern[:-2]) if pattern.endswith("/**") else path == pattern

    # Changing

    def apply(self, updates):
        """Applies updates. One malformed entry voids all of them."""
        if not all(map(is_update, updates)):
            return
        for update in updates:
            match update["type"]:
                case "addRules":
                    self.add([(rule["toolName"], rule.get("ruleContent")) for rule in update["rules"]], update["destination"])
                case "addDirectories":
                    self.directories += [os.path.realpath(folder) for folder in update["directories"]]
                case "setMode" if update["mode"] != "bypassPermissions":
                    self.change(update["mode"])

    def add(self, added, destination):
        files = {"localSettings": Path(self.cwd) / ".claude" / "settings.local.json", "userSettings": configuration() / "settings.json",
                 "projectSettings": Path(self.cwd) / ".claude" / "settings.json"}
        if destination in files:
            kept = settings(files[destination])
            kept.setdefault("permissions", {}).setdefault("allow", []).extend(tool + (f"({content})" if content else "") for tool, content in added)
            files[destination].parent.mkdir(exist_ok=True)
            files[destination].write_text(json.dumps(kept))
        if destination != "projectSettings":
            # The folder is untrusted, so rules of the project do not apply.
            self.allows += [(*rule, destination) for rule in added]


def rules(found, destination):
    return {"type": "addRules", "rules": found, "behavior": "allow", "destination": destination}


def is_update(update):
    if not isinstance(update, dict) or update.get("destination") not in SOURCES:
        return False
    match update.get("type"):
        case "addRules":
            return update.get("behavior") == "allow" and isinstance(update.get("rules"), list) and all("toolName" in rule for rule in update["rules"])
        case "addDirectories":
            return isinstance(update.get("directories"), list)
        case "setMode":
            return update.get("mode") in MODES
    return False
