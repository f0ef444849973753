import LocalServer
import Vocabulary

/// Why a command ends, with the exit code for scripts.
struct CommandFailure: Error, CustomStringConvertible {
    var code: ExitCode
    var message: String

    var description: String { message }
}

extension CommandFailure {
    /// Failure of a server to start. A fault that another address mends is a mistake of the configuration or the command line. With `mayChange`
    /// a place that is taken or not there yet is no such mistake, since a later start may have it.
    init(starting error: LocalServerError, _ subject: String = "", mayChange: Bool = false) {
        let isMistake =
            switch error.code {
            case .startFailed: false
            case .portInUse, .badAddress: !mayChange
            case .notLoopback, .notPermitted: true
            }
        self.init(code: isMistake ? .usage : .unexpected, message: "\(subject)\(error)")
    }
}
