import AgentKit
import BridgeService
import Children
import Commands
import ConfigurationFile
import Files
import FoundationEssentials
import Glibc
import Vocabulary

// Decides nothing: makes the edges and hands them to the service.
OwnProcess.hide()
let arguments = Array(CommandLine.arguments.dropFirst())
let environment = ConfigurationSources(environment: ProcessInfo.processInfo.environment)
let output = Output(json: arguments.contains("--json") || environment.wantsJSON)
do {
    let commands = CommandTable.declarations
    switch try CommandLineParser(commands).parse(arguments) {
    case .help(let name):
        let help = HelpText(commands)
        let text = name.map(help.command) ?? help.program()
        output.event("help", [("text", .string(text))])
        output.raw(text + "\n")
    case .version:
        output.event(
            "version",
            [
                ("version", .string(HelpText.version)), ("commit", .string(BuildFacts.commit)),
                ("libraries", .string(BuildFacts.libraries)),
            ])
        output.line("sophon-bridge \(HelpText.version)" + (BuildFacts.commit.isEmpty ? "" : " (\(BuildFacts.commit))"))
        output.line("with \(BuildFacts.libraries)")
    case .command(let command):
        try CommandTable.command(command, output)?.run()
    }
    output.leave(.clean)
} catch let failure as CommandFailure {
    output.event("error", [("code", .number(failure.code)), ("message", .string(failure.message))])
    output.say("sophon-bridge: \(failure.message)")
    output.leave(failure.code)
} catch let fault as AgentFault {
    output.event("error", [("code", .number(fault.exitCode)), ("message", .string(fault.message))])
    output.say("sophon-bridge: \(fault.message)")
    output.leave(fault.exitCode)
} catch let mistake as UsageError {
    output.event("error", [("code", .number(.usage)), ("message", .string(mistake.message))])
    output.say(lines: "sophon-bridge: \(mistake)".split(separator: "\n").map(String.init))
    output.leave(.usage)
} catch let error as FileError {
    let code: ExitCode = error.code == .inUse ? .stateInUse : .unexpected
    output.event("error", [("code", .number(code)), ("message", .string(error.message))])
    output.say("sophon-bridge: \(error)")
    output.leave(code)
} catch {
    output.event("error", [("code", .number(.unexpected)), ("message", .string("\(error)"))])
    output.say("sophon-bridge: \(error)")
    output.leave(.unexpected)
}
