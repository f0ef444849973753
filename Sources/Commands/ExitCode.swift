/// The exit codes that scripts may rely on. A test compares them with the help.
package enum ExitCode: Int32, Sendable, CaseIterable {
    case clean = 0
    case unexpected = 1
    case usage = 2
    case relayUnreachable = 20
    case tokenRefused = 23

    package var meaning: String {
        switch self {
        case .clean: "all went well"
        case .unexpected: "something unexpected; or a replay that differs from what was expected"
        case .usage: "a mistake in the command line, the configuration or a recording"
        case .relayUnreachable: "the relay cannot be reached"
        case .tokenRefused: "the relay refused the token"
        }
    }
}
