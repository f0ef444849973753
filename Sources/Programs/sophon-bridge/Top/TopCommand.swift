import BridgeService
import Commands
import ConfigurationFile
import FoundationEssentials
import Glibc
import Locking
import OSThreads
import Vocabulary

/// `top`: the contents of `status`, repeated on one screen.
struct TopCommand: Command {
    static let declaration = CommandDeclaration(
        name: "top", summary: "a live view: connections, chats, what waits and why; q ends it",
        options: [
            .init("once", nil, "one picture"), .init("every", "TIME", "how often it is drawn anew (2s)"), .config,
            .stateDirectory,
        ],
        examples: ["sophon-bridge top", "sophon-bridge top --once", "sophon-bridge top --every 10s --json"])

    private static let advice = "sophon-bridge top --every 2s"

    private let command: ParsedCommand
    private let output: Output
    private let clock = SystemClock()

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        // Block the signals before any thread begins, so that the terminal can be restored after one.
        SignalWatcher.block()
        let interval = try interval()
        let configuration = try CommandConfiguration.load(command, output).configuration
        let environment = ProcessInfo.processInfo.environment
        let isDumb = environment["TERM"].map { $0.isEmpty || $0 == "dumb" } ?? true
        let screen = Screen(columns: environment["COLUMNS"].flatMap { Int($0) }, isDumb: isDumb)
        let wakeUp = WakeUp()
        let isOver = Locked(false)
        let signals = try SignalWatcher { _ in
            isOver.withLock { $0 = true }
            wakeUp.raise()
        }
        let hasColor = configuration.terminal.color && screen.isTerminal && !isDumb
        let picture = { (reading: StatusReading) in
            TopPicture(width: screen.size.columns, height: screen.isLive ? screen.size.lines : nil, hasColor: hasColor)
                .lines(reading.status, isRunning: reading.isRunning, wallMilliseconds: reading.wall)
        }
        var reading = try StatusReading(configuration.stateDirectory)
        if output.json || command.switches.contains("once") || !screen.isLive {
            var isFirst = true
            while true {
                output.event("top", reading.members)
                if !output.json {
                    output.picture((isFirst ? "" : "\n") + picture(reading).joined(separator: "\n") + "\n")
                }
                if command.switches.contains("once") { return }
                isFirst = false
                _ = screen.wait(for: wakeUp, atMost: interval, hearsKeys: false)
                if isOver.withLock({ $0 }) { return }
                reading = try StatusReading(configuration.stateDirectory)
            }
        }
        output.conduct(.show)
        try screen.take()
        defer {
            output.picture(Screen.end)
            screen.giveBack()
            withExtendedLifetime(signals) {}
        }
        output.picture(Screen.begin)
        var next = clock.now + interval
        while true {
            output.picture(Screen.frame(picture(reading)))
            let heard = screen.wait(for: wakeUp, atMost: max(.zero, next - clock.now), hearsKeys: true)
            if heard == .end || isOver.withLock({ $0 }) { return }
            guard clock.now >= next else { continue }
            next = clock.now + interval
            reading = try StatusReading(configuration.stateDirectory)
        }
    }

    private func interval() throws -> Duration {
        guard let text = command.values["every"] else { return .seconds(2) }
        do throws(Complaint) {
            return try ValueForm<Duration>.duration(.milliseconds(200)...(.seconds(3_600))).read(.string(text))
        } catch {
            throw UsageError("--every takes \(error.expected), not \(text)", try: Self.advice)
        }
    }
}
