import LocalServer
import Vocabulary

/// Why a command ends, with the code that scripts see.
struct CommandFailure: Error, CustomStringConvertible {
    var code: ExitCode
    var message: String

    var description: String { message }
}

extension CommandFailure {
    /// Why a server did not start. What another address mends is a mistake of the configuration or the command line.
    init(starting error: LocalServerError, _ subject: String = "") {
        self.init(code: error.code == .startFailed ? .unexpected : .usage, message: "\(subject)\(error)")
    }
}
