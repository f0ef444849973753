import AgentKit
import BridgeModel
import BridgeService
import Commands
import Configuring
import Files
import FoundationEssentials
import Glibc

// Decides nothing: makes the edges, hands them to the service.
let arguments = Array(CommandLine.arguments.dropFirst())
let environment = ConfigurationSources(environment: ProcessInfo.processInfo.environment)
let output = Output(json: arguments.contains("--json") || environment.wantsJSON)
do {
    switch try CommandLineParser.parse(arguments) {
    case .help(let name):
        if output.json { output.event("help") } else { output.line(name.map(HelpText.command) ?? HelpText.program()) }
    case .version:
        output.event("version", [("version", .string(HelpText.version))])
        output.line("sophon-bridge \(HelpText.version)")
    case .command(let command):
        switch command.name {
        case "run", "record", "simulate": output.conduct(.service)
        case "demo": output.conduct(.show)
        default: break
        }
        switch command.name {
        case "run", "record": try RunCommand(command, output).run()
        case "replay": try ReplayCommand(command, output).run()
        case "demo": try DemoCommand(command, output).run()
        case "config": try ConfigCommand(command, output).run()
        case "simulate": try SimulateCommand(command, output).run()
        case "pair": try PairCommand(command, output).run()
        case "doctor": try DoctorCommand(command, output).run()
        case "service": try ServiceCommand(command, output).run()
        case "completion":
            let text = command.operands.first.flatMap(CompletionScript.text) ?? ""
            output.event("completion", [("text", .string(text))])
            output.raw(text)
        case "status": try StatusCommand(command, output).run()
        case "logout": try LogoutCommand(command, output).run()
        case "explain": try ExplainCommand(command, output).run()
        case "journal": try JournalCommand(command, output).run()
        default: break
        }
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
    output.say("sophon-bridge: \(mistake)")
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
