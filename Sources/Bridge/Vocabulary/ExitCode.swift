/// Exit codes that scripts may rely on. A test compares them with the help.
package enum ExitCode: Int32, Sendable, CaseIterable {
    case clean = 0
    case unexpected = 1
    case usage = 2
    case agentNotInstalled = 10
    case agentNotInitialised = 11
    case agentUnreachable = 12
    case agentTokenMissing = 13
    case relayUnreachable = 20
    case pairingTimedOut = 21
    case pairingCodeExpired = 22
    case tokenRefused = 23
    case stateInUse = 24
    /// Code of a program that SIGPIPE ended.
    case outputClosed = 141

    package var meaning: String {
        switch self {
        case .clean: "all went well"
        case .unexpected: "something unexpected; or a replay that differs from what was expected, or could read nothing"
        case .usage: "a mistake in the command line, the configuration or a recording"
        case .agentNotInstalled: "the agent is not installed"
        case .agentNotInitialised: "the agent is installed but not set up"
        case .agentUnreachable: "the agent cannot be reached"
        case .agentTokenMissing: "there is no token for the agent"
        case .relayUnreachable: "the relay cannot be reached"
        case .pairingTimedOut: "nobody finished the pairing in time"
        case .pairingCodeExpired: "the pairing code has expired"
        case .tokenRefused: "the relay refused the token"
        case .stateInUse: "another bridge holds the state directory"
        case .outputClosed: "the reader of standard output went away; run, record and simulate go on instead"
        }
    }
}
