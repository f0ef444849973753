import AgentKit
import BridgeService
import Commands
import Crypto
import Files
import FoundationEssentials
import Glibc
import Locking
import RelayProtocol
import Transport
import Vocabulary

/// `pair`: the edges of the machine `Pairing`, and its words for a person.
struct PairCommand: Command {
    static let declaration = CommandDeclaration(
        name: "pair", summary: "get a token from the relay, confirmed in a browser or on the phone",
        options: [
            .init("code", "CODE", "a code that the phone shows (the relay makes one)"),
            .init("manual", nil, "show the address instead of opening a browser"),
            .init("host-label", "NAME", "what the phone calls this machine (its own name)"),
            .connection,
            .config,
        ],
        examples: ["sophon-bridge pair", "sophon-bridge pair --code 9FP9SVT"])

    private let command: ParsedCommand
    private let output: Output
    private let clock = SystemClock()

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        let loaded = try CommandConfiguration.load(command, output)
        let target = try ConnectionOfCommand(command, in: loaded)
        let connection = target.connection
        let store = CredentialStore(directory: target.directory)
        // Find a directory that cannot be written before the user confirms.
        try PrivateFile.makeDirectory(target.directory)
        let former = try? store.load(connection.name, for: connection.relay.address)

        let (secret, publicKey) = try device(of: connection, former?.credentials, loaded.configuration)
        let claim = try pair(connection, hostLabel: loaded.configuration.hostLabel, loaded.configuration.terminal)
        output.event("pairing_claimed", [("installation_id", .string(claim.installation ?? ""))])
        try store.save(
            RelayCredentials(
                token: claim.token, installation: claim.installation, relay: connection.relay.address.description,
                bridgeSecret: secret, bridgePublicKey: publicKey),
            for: connection.name, wallMilliseconds: clock.wallMilliseconds)
        let path = store.path(of: connection.name)
        output.event(
            "paired_only", [("installation_id", .string(claim.installation ?? "")), ("path", .string(path))])
        output.line("paired\(claim.installation.map { " as \($0)" } ?? ""); the token is in \(path)")
        if let origin = target.tokenOrigin { output.say("another token is set by \(origin), and goes before this one") }
    }

    /// The former secret, for which keys of chats were wrapped; a damaged one is replaced.
    private func device(
        of connection: Configuration.Connection, _ former: RelayCredentials?, _ configuration: Configuration
    ) throws -> (secret: Secret, publicKey: String) {
        let library = try OpenSSLSealing()
        let files = SealingFiles(
            configDirectory: configuration.configDirectory, stateDirectory: configuration.stateDirectory)
        let known = try? files.knownDeviceSecret(of: connection.name, in: former)
        guard let secret = known?.secret ?? SecretKey(library.bytes(SecretKey.length)) else {
            preconditionFailure("asked for as many")
        }
        return (Secret(secret.hex), Hexadecimal.text(library.publicKey(of: secret)))
    }

    private func pair(
        _ connection: Configuration.Connection, hostLabel: String?, _ terminal: Configuration.Terminal
    ) throws -> Pairing.Claim {
        var settings = CurlClient.Settings()
        settings.authorityFile = connection.relay.authorityFile
        let http = CurlClient(settings: settings)
        defer { http.close() }
        let answers = Locked<[Result<HTTPResponse, HTTPFailure>]>([])
        let showsTicker = !output.json && isatty(STDERR_FILENO) == 1
        let connector = connection.agent.kind.rawValue
        var pairing = Pairing(
            Pairing.Settings(
                relay: connection.relay.address, connector: connector, hostLabel: hostLabel ?? MachineName.own,
                code: command.values["code"], tickInterval: showsTicker ? .seconds(1) : .seconds(15)))
        defer { if showsTicker { output.progress("") } }
        pairing.start(at: clock.now, wallMilliseconds: clock.wallMilliseconds)
        while true {
            for order in pairing.takeOrders() {
                switch order {
                case .request(let request): http.send(request) { answer in answers.withLock { $0.append(answer) } }
                case .invite(let invitation): show(invitation, connector, terminal)
                case .waiting(let elapsed, let remaining): tell(elapsed, remaining, showsTicker: showsTicker)
                case .claimed(let claim): return claim
                case .failed(let failure): throw CommandFailure(code: failure.kind.exitCode, message: failure.message)
                }
            }
            let left = pairing.nextDeadline.map { max(.zero, $0 - clock.now) } ?? .seconds(1)
            _ = Pace.wait(atMost: left) { answers.withLock { !$0.isEmpty } }
            if let answer = answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                pairing.answered(answer, at: clock.now, wallMilliseconds: clock.wallMilliseconds)
            }
            pairing.timePassed(at: clock.now)
        }
    }

    // MARK: Words for the person

    private func show(
        _ invitation: Pairing.Invitation, _ connector: String, _ terminal: Configuration.Terminal
    ) {
        let seconds = Int(invitation.lifetime.seconds)
        let opensBrowser = invitation.browserURL != nil && !terminal.manualPair
        var members: [(String, JSONText)] = [
            ("connector", .string(connector)), ("code", .string(invitation.code)),
            ("expires_at", .number(Int(invitation.expiresAtWallMilliseconds))), ("ttl_sec", .number(seconds)),
        ]
        if let url = invitation.browserURL { members.append(("browser_url", .string(url))) }
        output.event("pairing_started", members + [("mode", .string(opensBrowser ? "browser" : "manual"))])
        if command.values["code"] == nil {
            output.say("pairing code: \(invitation.code) (for \(seconds) s)")
            output.say("enter it on the phone: Settings, Connect a bridge")
        } else {
            output.say("waiting for the phone, which made the code \(invitation.code)")
        }
        guard let url = invitation.browserURL else { return }
        let isOpened = opensBrowser && Browser(environment: ProcessInfo.processInfo.environment).open(url)
        if isOpened { output.event("pairing_browser_opened", [("browser_url", .string(url))]) }
        output.say(isOpened ? "or confirm it in the browser, at \(url)" : "or open \(url)")
    }

    private func tell(_ elapsed: Duration, _ remaining: Duration, showsTicker: Bool) {
        let left = Int(remaining.seconds.rounded())
        if showsTicker { return output.progress("waiting for confirmation… \(left) s left") }
        output.event(
            "pairing_waiting", [("elapsed_sec", .number(Int(elapsed.seconds))), ("remaining_sec", .number(left))])
        if !output.json { output.say("waiting for confirmation… \(left) s left") }
    }
}

extension Pairing.Failure.Kind {
    fileprivate var exitCode: ExitCode {
        switch self {
        case .timedOut: .pairingTimedOut
        case .codeExpired: .pairingCodeExpired
        case .unreachable: .relayUnreachable
        case .refused: .unexpected
        }
    }
}
