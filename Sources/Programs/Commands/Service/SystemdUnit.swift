import Vocabulary

/// A systemd user unit for `sophon-bridge run`.
///
/// - A permanent failure is not retried (`final`).
/// - The unit uses no setting for which a user's own systemd needs namespaces, so that it also starts in containers and on machines without
/// unprivileged namespaces.
/// - An agent that is our child inherits every restriction. It runs tools of which we know nothing, and its own sandbox may need namespaces:
/// with such an agent the strict settings are left out.
/// - An agent may outlive the bridge: with such an agent a stop ends the bridge's own process alone, which ends its other children itself, and
/// a process that the kernel ends for lack of memory takes no other with it.
package struct SystemdUnit: Sendable {
    package static let name = "sophon-bridge.service"

    /// Absolute path of the program.
    package var program: String
    package var arguments: [String]
    package var environment: [(name: String, value: String)]
    /// File of variables that may hold tokens: for its owner alone, and not in the unit. It may be absent.
    package var environmentFile: String?
    package var startsAgents: Bool

    package init(
        program: String, arguments: [String] = ["run"], environment: [(name: String, value: String)] = [],
        environmentFile: String? = nil, startsAgents: Bool = false
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.environmentFile = environmentFile
        self.startsAgents = startsAgents
    }

    /// Folders of a shell's PATH that a service can use: absolute ones, each once.
    package static func path(_ shell: String) -> String {
        var folders: [Substring] = []
        for folder in shell.split(separator: ":") where folder.hasPrefix("/") && !folders.contains(folder) {
            folders.append(folder)
        }
        return folders.joined(separator: ":")
    }

    /// Why a program at this path will not stay, or nil if no reason is known. The kernel appends " (deleted)" to the path of a program that was
    /// deleted or replaced while it runs (proc(5)).
    package static func whyNotKept(_ program: String, temporaryDirectory: String?) -> String? {
        if program.hasSuffix(" (deleted)") { return "was deleted or replaced since it was started" }
        let directories = ["/tmp", "/var/tmp", "/dev/shm", "/run"] + (temporaryDirectory.map { [$0] } ?? [])
        for directory in directories {
            let prefix = directory.hasSuffix("/") ? directory : directory + "/"
            if prefix.count > 1, program.hasPrefix(prefix) { return "is in a directory that is emptied, \(directory)" }
        }
        return nil
    }

    /// Exit codes that a restart does not mend.
    private static let final: [ExitCode] = [.usage, .tokenRefused, .stateInUse]

    private static let strict = [
        "MemoryDenyWriteExecute=yes", "RestrictNamespaces=yes", "SystemCallFilter=@system-service",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    ]

    private static let ofAgents = ["KillMode=process", "OOMPolicy=continue"]

    package var text: String {
        let command = ([program] + arguments).map { Self.quoted($0, isCommand: true) }.joined(separator: " ")
        var lines = [
            "[Unit]", "Description=Sophon bridge: an AI agent's runs on the phone",
            "Documentation=man:sophon-bridge(1) https://docs.sophon.at", "StartLimitIntervalSec=0", "",
            "[Service]", "Type=notify", "NotifyAccess=main", "ExecStart=\(command)",
            "ExecReload=kill -HUP $MAINPID",
        ]
        for (name, value) in environment {
            lines.append("Environment=\(Self.quoted("\(name)=\(value)", isCommand: false))")
        }
        if let environmentFile { lines.append("EnvironmentFile=-\(Self.escapedSpecifiers(environmentFile))") }
        lines += [
            "Restart=on-failure", "RestartSec=5",
            "RestartPreventExitStatus=\(Self.final.map { String($0.rawValue) }.joined(separator: " "))",
            // The journal may lie on a slow disk; the watchdog counts from the moment when the bridge is ready.
            "TimeoutStartSec=infinity", "WatchdogSec=60",
            // Longer than the longest `limits.stop_flush`.
            "TimeoutStopSec=75", "UMask=0077", "LimitCORE=0", "NoNewPrivileges=yes", "LockPersonality=yes",
            "RestrictRealtime=yes", "RestrictSUIDSGID=yes", "SystemCallArchitectures=native",
        ]
        lines += startsAgents ? Self.ofAgents : Self.strict
        lines += ["", "[Install]", "WantedBy=default.target", ""]
        return lines.joined(separator: "\n")
    }

    /// Quotes as systemd.syntax(7) and systemd.service(5) require: percent signs are specifiers, and in commands dollar signs are variables.
    private static func quoted(_ text: String, isCommand: Bool) -> String {
        var quoted = "\""
        for scalar in escapedSpecifiers(text).unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "$" where isCommand: quoted += "$$"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func escapedSpecifiers(_ text: String) -> String {
        text.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%")
    }
}
