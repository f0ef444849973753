import AgentWork
import Children
import FoundationEssentials
import Glibc
import Testing
import Vocabulary
import WireTesting

@Suite("Notices to a program")
final class SystemNoticesTests {
    private let file: String

    init() { file = FileManager.default.temporaryDirectory.appending(path: "notice-\(UUID())").path() }
    deinit { try? FileManager.default.removeItem(atPath: file) }

    private func tell(
        _ script: String, _ body: String = #"{"id":"n1"}"#, limit: Duration = .seconds(15), withheld: [String] = []
    ) throws -> NoticeAnswer {
        try tell(["/bin/sh", "-c", script], body, limit: limit, withheld: withheld)
    }

    private func tell(
        _ words: [String], _ body: String = "{}", limit: Duration = .seconds(15), withheld: [String] = []
    ) throws -> NoticeAnswer {
        var limits = SystemNotices.Limits()
        limits.command = limit
        let notices = SystemNotices(children: SystemChildren(), limits: limits)
        let answers = Queue<NoticeAnswer>()
        notices.tell(Array(body.utf8), to: .command(words, withheld: withheld)) { answers.put($0) }
        return try answers.next()
    }

    private var written: String { (try? String(contentsOf: URL(filePath: file), encoding: .utf8)) ?? "" }

    @Test("it gets the object and a line feed, and its end says whether it took it")
    func delivered() throws {
        #expect(try tell("cat > \(file)") == .told)
        #expect(written == "{\"id\":\"n1\"}\n")
        #expect(try tell("exit 3") == .failed(reason: "the program ended with 3"))
        #expect(try tell("kill -9 $$") == .failed(reason: "the program was ended by signal 9"))
    }

    @Test("one that reads nothing, and one that writes a gigabyte, are as good as any other")
    func deaf() throws {
        let large = String(repeating: "x", count: 200_000)
        #expect(try tell("exec <&-; exit 0", large) == .told)
        #expect(try tell("cat > /dev/null; yes | head -c 1G; yes | head -c 1G >&2") == .told)
    }

    @Test("one that does not end is ended in time, with all of its group")
    func endless() throws {
        let answer = try tell("sleep 1000 & echo $! > \(file); wait", limit: .seconds(1))
        #expect(answer == .failed(reason: "the program took too long, and was ended"))
        let child = try #require(Int32(written.filter(\.isNumber)))
        #expect(!isRunning(child))
    }

    private func isRunning(_ process: Int32) -> Bool {
        let status = (try? String(contentsOf: URL(filePath: "/proc/\(process)/stat"), encoding: .utf8)) ?? ""
        return !status.isEmpty && !status.contains(") Z ")
    }

    @Test("it sees no variable of the bridge, nor one that holds a secret")
    func environment() throws {
        setenv("SOPHON_NOTIFY_TOKEN", "s3cret", 1)
        setenv("NOTICE_KEY_OF_TEST", "s3cret", 1)
        defer {
            unsetenv("SOPHON_NOTIFY_TOKEN")
            unsetenv("NOTICE_KEY_OF_TEST")
        }
        #expect(try tell("env > \(file)", withheld: ["NOTICE_KEY_OF_TEST"]) == .told)
        #expect(written.contains("PATH=") && !written.contains("s3cret"))
    }

    @Test("what cannot be run is a failure that names no word of the command")
    func missing() throws {
        let answer = try tell(["no-such-program", "token"])
        #expect(answer == .failed(reason: "the program was not found; see: sophon-bridge doctor"))
        #expect(
            try tell(["/etc/passwd"]) == .failed(reason: "the program may not be run; see: sophon-bridge doctor"))
        let plan = ChildPlan(
            arguments: ["no-such-program"], folder: "/", life: .withBridge(grace: .seconds(1)), pipes: .input)
        #expect(SystemChildren.fault(of: plan)?.code == .notFound)
        var good = plan
        good.arguments = ["sh"]
        #expect(SystemChildren.fault(of: good) == nil)
        good.arguments = ["/no/such/program"]
        #expect(SystemChildren.fault(of: good)?.code == .notFound)
        good.arguments = ["/usr/bin"]
        #expect(SystemChildren.fault(of: good)?.code == .notExecutable)
    }

    @Test("a webhook that nobody listens at is a failure")
    func refused() throws {
        let notices = SystemNotices(children: SystemChildren())
        let answers = Queue<NoticeAnswer>()
        let address = NoticeAddress(WebAddress(.http, "127.0.0.1", 1), query: "key=s3cret")
        notices.tell([], to: .webhook(address, token: Secret("s3cret"))) { answers.put($0) }
        guard case .failed(let reason, nil) = try answers.next() else {
            Issue.record("it was delivered")
            return
        }
        #expect(reason.hasPrefix("no connection") && !reason.contains("s3cret"))
        notices.close()
        notices.tell([], to: .webhook(address, token: nil)) { answers.put($0) }
        #expect(try answers.next() == .failed(reason: "the bridge ends"))
    }
}
