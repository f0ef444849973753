import Commands

/// `record DIR`: `run --record DIR`.
struct RecordCommand: Command {
    static let declaration = CommandDeclaration(
        name: "record", summary: "run, and write every frame to recordings in a directory, without secrets",
        operands: "DIR", options: [.config, .stateDirectory, .metrics, .anyFileSystem],
        examples: ["sophon-bridge record ~/recordings"])
    static let conduct = RunCommand.conduct

    private let bridge: RunCommand
    private let operands: [String]

    init(_ command: ParsedCommand, _ output: Output) {
        var command = command
        operands = command.operands
        command.values["record"] = command.operands.first
        bridge = RunCommand(command, output)
    }

    func run() throws {
        guard operands.count == 1 else {
            let found = operands.isEmpty ? "a directory" : "one directory, not \(operands.count)"
            throw UsageError("record needs \(found)", try: Self.declaration.examples[0])
        }
        try bridge.run()
    }
}
