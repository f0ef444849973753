import Commands
import Files
import RelayRules
import Simulator
import Vocabulary

/// `simulate --state FILE`
enum SimulatorStateFile {
    /// Far above the size of tests and conversations.
    private static let limit = 1 << 29

    /// A simulator that stores its state in the file and resumes from it, or one without a file if `path` is nil.
    static func simulator(
        _ settings: RelaySimulator.Settings, keptIn path: String?, _ output: Output
    ) throws(CommandFailure) -> RelaySimulator {
        guard let path else { return RelaySimulator(settings: settings) }
        let file: ExclusiveFile
        let kept: PrivateFile.Content?
        do throws(FileError) {
            file = try ExclusiveFile(path)
            kept = try file.read(atMost: limit)
        } catch {
            throw CommandFailure(code: error.code == .inUse ? .stateInUse : .usage, message: error.message)
        }
        var settings = settings
        settings.store = StateStore(
            write: { bytes in
                do throws(FileError) { try file.write(bytes) } catch { return error.message }
                return nil
            },
            trouble: { output.say("\($0); it is tried again, and until then a crash loses what is new") })
        let simulator: RelaySimulator
        do throws(RelayStateFault) {
            simulator =
                try kept.map { content throws(RelayStateFault) in
                    try RelaySimulator(settings: settings, state: content.bytes)
                } ?? RelaySimulator(settings: settings)
        } catch {
            throw CommandFailure(
                code: .usage, message: "\(path) \(error); move it away to begin anew, or name another file with --state"
            )
        }
        if let warning = kept?.warning { output.say(warning) }
        // Write once now, so that an unwritable place shows at the start, and not at the first message.
        if let failure = settings.store?.write(simulator.keptState) {
            throw CommandFailure(code: .usage, message: failure)
        }
        return simulator
    }
}
