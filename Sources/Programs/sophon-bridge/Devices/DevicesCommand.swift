import BridgeService
import Commands
import Crypto
import Files
import Sealing
import Vocabulary

/// `devices list|allow|revoke`: the phones that may read sealed chats.
struct DevicesCommand: Command {
    static let declaration = CommandDeclaration(
        name: "devices", summary: "the phones that may read encrypted chats: list them, allow or revoke one",
        operands: "list|allow|revoke [NUMBER]", actions: ["list", "allow", "revoke"],
        subjects: ["allow": "the number of a device, or its id", "revoke": "the number of a device, or its id"],
        options: [.connection, .config, .stateDirectory],
        examples: [
            "sophon-bridge devices list", "sophon-bridge devices allow 2",
            "sophon-bridge devices revoke 2 --connection work",
        ])

    /// A running bridge looks for orders every few seconds.
    private static let patience = Duration.seconds(20)

    private let command: ParsedCommand
    private let output: Output

    private struct Row {
        var connection: Configuration.Connection
        var device: DeviceBook.Device
    }

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        let configuration = try CommandConfiguration.load(command, output).configuration
        let connections = try chosen(of: configuration)
        guard let name = command.operands.dropFirst().first else { return try list(connections, configuration) }
        let action = DeviceOrders.Action(rawValue: command.operands[0]) ?? .revoke
        try carryOut(action, try row(of: name, connections, configuration), configuration)
    }

    private func chosen(of configuration: Configuration) throws -> [Configuration.Connection] {
        guard let name = command.values["connection"] else { return configuration.connections }
        let names = configuration.connections.map(\.name.text)
        guard let index = names.firstIndex(of: name) else {
            throw UsageError(
                "there is no connection \(name); the configuration has \(names.joined(separator: ", "))",
                try: "sophon-bridge devices list")
        }
        return [configuration.connections[index]]
    }

    // MARK: List

    private func rows(_ connection: Configuration.Connection, _ configuration: Configuration) throws -> [Row] {
        guard let opened = try look(connection, configuration) else { return [] }
        return opened.ring.book.devices.values.sorted { $0.number < $1.number }.map {
            Row(connection: connection, device: $0)
        }
    }

    private func look(
        _ connection: Configuration.Connection, _ configuration: Configuration
    ) throws -> KeyFiles.Opened? {
        let files = KeyFiles(connection.name, in: configuration)
        let token = connection.relay.token ?? files.pairing(connection, nil)?.credentials.token
        let opened = try files.look(at: connection, token: token, library: OpenSSLSealing())
        for warning in opened?.warnings ?? [] { output.say(warning) }
        return opened
    }

    private func list(_ connections: [Configuration.Connection], _ configuration: Configuration) throws {
        let rows = try connections.flatMap { try self.rows($0, configuration) }
        for row in rows { show(row) }
        if rows.isEmpty {
            output.line("no phone is known yet: it makes itself known when its app is opened while the bridge runs")
        }
        let held = rows.filter { $0.device.standing == .held }
        output.event("devices", [("count", .number(rows.count)), ("held", .number(held.count))])
        if let first = held.first {
            output.say(
                "what is held gets no key from this bridge until it is allowed: sophon-bridge devices allow \(first.device.number)"
            )
        }
    }

    private func show(_ row: Row) {
        let device = row.device
        let key = Hexadecimal.text(device.publicKey)
        var members: [(String, JSONText)] = [
            ("connection", .string(row.connection.name.text)), ("number", .number(device.number)),
            ("device_id", .string(device.id.text)), ("standing", .string(device.standing.rawValue)),
            ("key", .string(key)),
        ]
        if let label = device.label { members.append(("label", .string(label))) }
        if let platform = device.platform { members.append(("platform", .string(platform))) }
        output.event("device", members)
        // The relay's words about a device go to a terminal.
        let words = [device.label, device.platform].compactMap { $0 }.map { "“\(DeviceLabel.plain($0))”" }
        let standing = device.standing.rawValue + String(repeating: " ", count: 8 - device.standing.rawValue.count)
        let id = DeviceLabel.plain(device.id.text)
        output.line(
            "\(row.connection.name)  \(device.number)  \(standing)  \(id)  key \(key.prefix(16))  \(words.joined(separator: ", "))"
        )
    }

    // MARK: Allow and revoke

    private func row(
        of name: String, _ connections: [Configuration.Connection], _ configuration: Configuration
    ) throws -> Row {
        // Digits alone are never an id: the relay could give a device the number of another as its id.
        let number = Int(name)
        let rows = try connections.flatMap { try self.rows($0, configuration) }.filter {
            if let number { $0.device.number == number } else { $0.device.id.text == name }
        }
        guard let row = rows.first else {
            throw UsageError("there is no device \(name)", try: "sophon-bridge devices list")
        }
        guard rows.count == 1 else {
            throw UsageError(
                "several connections have a device \(name)",
                try: "sophon-bridge devices \(command.operands[0]) \(name) --connection \(row.connection.name)")
        }
        return row
    }

    private func carryOut(_ action: DeviceOrders.Action, _ row: Row, _ configuration: Configuration) throws {
        let order = DeviceOrders.Order(action, row.device, of: row.connection.name)
        let wasDone = row.device.standing == action.standing
        if !wasDone {
            do {
                let lock = try InstanceLock(directory: configuration.stateDirectory)
                defer { withExtendedLifetime(lock) {} }
                try write(order, row.connection, configuration)
            } catch let error as FileError where error.code == .inUse {
                try hand(order, configuration)
            }
        }
        guard let now = try rows(row.connection, configuration).first(where: { $0.device.id == row.device.id }),
            now.device.publicKey == row.device.publicKey, now.device.standing == action.standing
        else {
            throw CommandFailure(
                code: .unexpected,
                message: "the device \(row.device.number) has changed meanwhile; look again: sophon-bridge devices list"
            )
        }
        output.event(
            "device_changed",
            [
                ("connection", .string(row.connection.name.text)), ("device_id", .string(row.device.id.text)),
                ("standing", .string(action.standing.rawValue)), ("changed", .flag(!wasDone)),
            ])
        output.line(wasDone ? "it was so already" : action.words)
    }

    /// Writes the keys' files itself, while no bridge runs here.
    private func write(
        _ order: DeviceOrders.Order, _ connection: Configuration.Connection, _ configuration: Configuration
    ) throws {
        guard var ring = try look(connection, configuration)?.ring else { return }
        _ = ring.carryOut(order, at: SystemClock().now, using: try OpenSSLSealing())
        for case .save(let stored, _) in ring.takeOrders() {
            let files = KeyFiles(connection.name, in: configuration)
            if let elsewhere = try files.save(stored, wallMilliseconds: SystemClock().wallMilliseconds) {
                output.say(elsewhere)
            }
        }
    }

    /// Hands the order to the running bridge, which holds the keys.
    private func hand(_ order: DeviceOrders.Order, _ configuration: Configuration) throws {
        let path = try DeviceOrders(stateDirectory: configuration.stateDirectory).add(order)
        guard Pace.wait(atMost: Self.patience, until: { !DeviceOrders.isPending(path) }) else {
            throw CommandFailure(
                code: .unexpected,
                message: "the bridge that runs has not taken it yet, and will; see: sophon-bridge status, and its log")
        }
    }
}

extension DeviceOrders.Action {
    fileprivate var standing: DeviceBook.Standing {
        switch self {
        case .allow: .pinned
        case .revoke: .refused
        }
    }

    fileprivate var words: String {
        switch self {
        case .allow: "allowed: it is given the keys of the encrypted chats"
        case .revoke:
            "revoked: it is given no key from now on. It keeps those that it has; remove it on the phone too, so that the phones "
                + "make new ones"
        }
    }
}
