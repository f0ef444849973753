import LocalServer
import Vocabulary

/// Why a command ends, with the code that scripts see.
struct CommandFailure: Error, CustomStringConvertible {
    var code: ExitCode
    var message: String

    var description: String { message }
}

extension CommandFailure {
    /// Why the simulator did not start. What another `--listen` mends is a mistake of the command line.
    init(starting error: LocalServerError) {
        self.init(code: error.code == .startFailed ? .unexpected : .usage, message: "\(error)")
    }
}
