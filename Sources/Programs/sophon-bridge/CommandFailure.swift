import LocalServer
import Vocabulary

/// Why a command ends, with the code that scripts see.
struct CommandFailure: Error, CustomStringConvertible {
    var code: ExitCode
    var message: String

    var description: String { message }
}

extension CommandFailure {
    /// Why a server did not start. What another address mends is a mistake of the configuration or the command line; where `mayChange` is
    /// set, a place that is taken or not there yet is none, since a later start may have it.
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
