import AgentKit
package import Vocabulary

/// The configuration's values for Codex, and the sockets and children made from them.
package struct CodexSettings: Hashable, Sendable {
    /// A server that the bridge starts and rejoins.
    package struct Own: Hashable, Sendable {
        var command: [String]
        var environment: ChildEnvironment
        /// Working folder of the process.
        var folder: String
        /// Nil if every candidate path exceeds the length limit of a Unix socket address.
        var socket: String?
        var log: String
        /// Lock file of one CODEX_HOME, held during the start of a server, or nil without a place for it.
        var lock: String?
        /// Hash of the command and the environment: a server started with another one would act differently.
        var fingerprint: String

        package init(
            command: [String], environment: ChildEnvironment = ChildEnvironment(), folder: String, socket: String?,
            log: String, lock: String? = nil, fingerprint: String
        ) {
            self.command = command
            self.environment = environment
            self.folder = folder
            self.socket = socket
            self.log = log
            self.lock = lock
            self.fingerprint = fingerprint
        }
    }

    enum Server: Hashable, Sendable {
        case own(Own)
        case named(CodexAddress, Secret?)
    }

    var server: Server
    var listener = ListenerTrust.own
    /// Folder of all chats, if the configuration names one.
    var folder: String?
    var sandbox: String
    var approvalPolicy: String
    /// Version of the bridge, for the handshake.
    var version: String

    init(server: Server, folder: String?, sandbox: String, approvalPolicy: String, version: String) {
        self.server = server
        self.folder = folder
        self.sandbox = sandbox
        self.approvalPolicy = approvalPolicy
        self.version = version
    }

    package init(_ own: Own, folder: String?) {
        self.init(
            server: .own(own), folder: folder, sandbox: "workspace-write", approvalPolicy: "on-request",
            version: "1.0.0")
    }

    /// Longest path of a socket (`UnixSocket` in Transport).
    static let socketPathLimit = 100
    private static let grace = Duration.seconds(2)

    var own: Own? { if case .own(let own) = server { own } else { nil } }

    /// The server can open the files of a message.
    var readsFiles: Bool { if case .named(.web, _) = server { false } else { true } }

    var name: String {
        switch server {
        case .own(let own): own.command.joined(separator: " ")
        case .named(let address, _): address.description
        }
    }

    var socketPlan: SocketPlan {
        var plan = SocketPlan(url: "ws://localhost/")
        switch server {
        case .own(let own): plan.unixPath = own.socket
        case .named(.socket(let path), _): plan.unixPath = path
        case .named(.web(let address), let token):
            plan.url = address.description
            plan.trust = Trust(listener: listener)
            if let token { plan.headers = [HTTPHeader("Authorization", "Bearer \(token.text)")] }
        }
        return plan
    }
}

extension CodexSettings.Own {
    /// Disables goals, with which the server would begin turns by itself (codex.md#what-moves-without-us).
    private static let features = ["--disable", "goals"]

    var serverPlan: ChildPlan {
        let address = "unix://\(socket ?? "")"
        return plan(["app-server", "--listen", address] + Self.features, .outlives, .none(log: log))
    }
    /// Plan of `doctor`'s server, where no other runs.
    var checkPlan: ChildPlan {
        plan(["app-server"] + Self.features, .withBridge(grace: .seconds(6)), .lines(limit: 1 << 20))
    }
    var versionPlan: ChildPlan { plan(["--version"], .withBridge(grace: .seconds(1)), .lines(limit: 1 << 16)) }

    private func plan(_ arguments: [String], _ life: ChildPlan.Life, _ pipes: ChildPlan.Pipes) -> ChildPlan {
        ChildPlan(
            arguments: command + arguments, environment: environment, folder: folder, life: life, pipes: pipes)
    }
}
