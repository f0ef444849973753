import Commands

/// A program with every kind of option and operand.
let sampleCommands = [
    CommandDeclaration(
        name: "run", summary: "the bridge's own work: [all] of it", options: [.stateDirectory, .metrics],
        hidden: [.init("time-scale", "N", "for tests")], examples: ["sophon-bridge run"]),
    CommandDeclaration(
        name: "demo", summary: "a show", options: [.init("once", nil, "end"), .init("speed", "1|4|max", "how fast")],
        examples: ["sophon-bridge demo"]),
    CommandDeclaration(
        name: "replay", summary: "play files", operands: "FILE…",
        options: [.init("to", "simulator|URL", "where"), .init("speed", "1|10|max", "how fast"), .config],
        examples: ["sophon-bridge replay run.jsonl"]),
    CommandDeclaration(
        name: "simulate", summary: "a relay", options: [.init("fault", "KIND", "plan one", repeats: true)],
        examples: ["sophon-bridge simulate"]),
    CommandDeclaration(
        name: "config", summary: "look at it", operands: "check|show|example", actions: ["check", "show", "example"],
        examples: ["sophon-bridge config check"]),
    CommandDeclaration(
        name: "devices", summary: "those that may", operands: "list|allow [ID]", actions: ["list", "allow"],
        subjects: ["allow": "an id"], examples: ["sophon-bridge devices list"]),
]
