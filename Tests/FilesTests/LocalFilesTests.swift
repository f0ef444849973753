import Glibc
import Locking
import OSThreads
import Testing
import Vocabulary

@testable import Files

@Suite("The agent's files, as the phone may see them")
struct LocalFilesTests {
    private let folder: Folder
    private let root: String

    init() throws {
        folder = try Folder()
        // The temporary folder itself may be a link.
        root = try #require(realpath(folder.path, nil).map { String(cString: $0) })
    }

    private func read(
        _ paths: String..., in files: LocalFiles = LocalFiles(home: nil, hidden: []), limit: Int = 1_000
    ) async -> Result<ShownFile, FileRefusal> {
        await withCheckedContinuation { done in
            files.read(paths, atMost: limit) { done.resume(returning: $0) }
        }
    }

    private func look(_ path: String, in files: LocalFiles = LocalFiles(home: nil, hidden: [])) async
        -> Result<SeenFile, FileRefusal>
    {
        await withCheckedContinuation { done in files.look(at: path) { done.resume(returning: $0) } }
    }

    @Test("an ordinary file is shown whole, with its type")
    func whole() async throws {
        try folder.put("hello", "notes.md")
        #expect(
            await read("\(root)/notes.md") == .success(ShownFile(mimeType: "text/markdown", bytes: Array("hello".utf8)))
        )
        try folder.put("", "empty")
        #expect(await read("\(root)/empty") == .success(ShownFile(mimeType: "text/plain", bytes: [])))
    }

    @Test(
        "the type follows from the name, then from the first bytes, then from a guess",
        arguments: [
            ("a.JSON", "{", "application/json"), ("fox.txt", "\u{89}PNG\r\n\u{1A}\n", "text/plain"),
            ("gif", "GIF89a...", "image/gif"), ("plain", "grüße\n", "text/plain"),
            ("bytes", "a\u{0}b", "application/octet-stream"), (".png", "x", "text/plain"),
        ])
    func types(_ name: String, _ text: String, _ expected: String) async throws {
        try folder.put(text, name)
        #expect(try await read("\(root)/\(name)").get().mimeType == expected)
    }

    @Test("a text that is cut within a character is still a text")
    func cutText() async throws {
        try folder.put("a" + String(repeating: "ü", count: 4_000), "long")
        #expect(try await read("\(root)/long", limit: 10_000).get().mimeType == "text/plain")
    }

    @Test("what is no ordinary file is refused, and none of it holds the reader up")
    func others() async throws {
        mkfifo("\(root)/pipe", 0o600)
        symlink("/etc/passwd", "\(root)/link")
        mkdir("\(root)/folder", 0o700)
        try folder.put("x", "folder/inside")
        symlink("folder", "\(root)/other")
        for path in ["pipe", "link", "folder", "other/inside", "folder/../folder/inside", "/folder/inside", "."] {
            #expect(await read("\(root)/\(path)") == .failure(.forbidden), "\(path)")
        }
        for path in ["/dev/zero", "/dev/tty", "/dev/null"] {
            #expect([.failure(.forbidden), .failure(.permissionDenied)].contains(await read(path)), "\(path)")
        }
        #expect(await read("\(root)/none") == .failure(.notFound))
        #expect(await read("\(root)/folder/inside/deeper") == .failure(.notFound))
        #expect(await read("folder/inside") == .failure(.invalidRequest))
        #expect(await read("\(root)/a\0b") == .failure(.invalidRequest))
    }

    @Test("a file without rights is refused by its own word", .enabled(if: geteuid() != 0))
    func rights() async throws {
        try folder.put("x", "secret", mode: 0)
        #expect(await read("\(root)/secret") == .failure(.permissionDenied))
        #expect(await read("/etc/shadow") == .failure(.permissionDenied))
    }

    @Test("a file over the limit is refused with its size, unread: 2 GB take no time")
    func large() async throws {
        try folder.put("12345", "five")
        #expect(try await read("\(root)/five", limit: 5).get().bytes.count == 5)
        #expect(await read("\(root)/five", limit: 4) == .failure(.tooLarge(size: 5)))
        truncate("\(root)/five", 2 << 30)
        #expect(await read("\(root)/five", limit: 1_572_864) == .failure(.tooLarge(size: 2 << 30)))
    }

    @Test("what the kernel answers for this process, with its environment in it, is not shown")
    func kernel() async throws {
        for file in ["environ", "cmdline", "maps", "status", "fd/0", "cwd/Package.swift"] {
            for process in ["self", "thread-self", String(getpid())] {
                #expect(await look("/proc/\(process)/\(file)") == .failure(.forbidden), "\(process) \(file)")
                #expect(await read("/proc/\(process)/\(file)") == .failure(.forbidden), "\(process) \(file)")
            }
        }
        for path in ["/dev/stdin", "/dev/fd/0", "/sys/kernel/uevent_seqnum", "/proc/version"] {
            #expect(await look(path) == .failure(.forbidden), "\(path)")
        }
        // Any name that leads there is refused.
        symlink("/proc/self/environ", "\(root)/environ")
        #expect(await look("\(root)/environ") == .failure(.forbidden))
    }

    @Test("a file that grows after it was opened is refused too")
    func growing() throws {
        try folder.put("12345", "five")
        let file = try OpenedFile("\(root)/five")
        truncate("\(root)/five", 7)
        #expect(throws: FileRefusal.tooLarge(size: 6)) { try file.bytes(atMost: 5) }
    }

    @Test("a file that the kernel makes up has no bytes, wherever it is mounted")
    func made() throws {
        #expect(try OpenedFile("/proc/\(getpid())/environ").bytes(atMost: 100_000) == [])
        #expect(try OpenedFile("/proc/\(getpid())/status").beginning(10) == [])
    }

    @Test("links that are put in the place of a file or its folder, between the request and the reading, lead nowhere")
    func swapped() async throws {
        let root = root
        for isFolder in [false, true] {
            try folder.put("mine", "garden/a.txt")
            try folder.put("secret", "private/a.txt")
            let files = LocalFiles(home: nil, hidden: []) { path in
                if isFolder {
                    rename("\(root)/garden", "\(root)/gone")
                    symlink("\(root)/private", "\(root)/garden")
                } else {
                    unlink(path)
                    symlink("\(root)/private/a.txt", path)
                }
            }
            #expect(await read("\(root)/garden/a.txt", in: files) == .failure(.forbidden))
            unlink("\(root)/garden/a.txt")
            unlink("\(root)/garden")
        }
    }

    @Test("two names must be one file")
    func twoNames() async throws {
        try folder.put("one", "one")
        try folder.put("two", "two")
        #expect(await read("\(root)/one", "\(root)/two") == .failure(.forbidden))
        #expect(try await read("\(root)/one", "\(root)/one").get().bytes == Array("one".utf8))
    }

    @Test("the bridge's own folders are not shown, by whatever name")
    func hidden() async throws {
        try folder.put("token", "config/credentials.json")
        try folder.put("mine", "configs.txt")
        symlink("config", "\(root)/way")
        let files = LocalFiles(home: nil, hidden: [])
        files.hide(["\(root)/way"])
        #expect(await read("\(root)/config/credentials.json", in: files) == .failure(.forbidden))
        #expect(await look("\(root)/way/credentials.json", in: files) == .failure(.forbidden))
        unlink("\(root)/way")
        try folder.put("later", "later/credentials.json")
        symlink("later", "\(root)/way")
        #expect(await look("\(root)/later/credentials.json", in: files) == .failure(.forbidden))
        #expect(try await read("\(root)/configs.txt", in: files).get().bytes == Array("mine".utf8))
    }

    @Test("a tool's path is followed to the file that it means")
    func followed() async throws {
        try folder.put("hello", "garden/notes.txt")
        symlink("garden", "\(root)/link")
        let seen = SeenFile(path: "\(root)/garden/notes.txt", size: 5, mimeType: "text/plain")
        let files = LocalFiles(home: root, hidden: [])
        for path in ["\(root)/link/notes.txt", "\(root)/garden/../link/notes.txt", "~/garden/notes.txt"] {
            #expect(await look(path, in: files) == .success(seen), "\(path)")
        }
        #expect(await look("garden/notes.txt", in: files) == .failure(.notFound))
        #expect(await look("~/garden/notes.txt") == .failure(.notFound))
        #expect(await look("\(root)/garden", in: files) == .failure(.forbidden))
    }

    @Test("a disk that hangs holds up four readers and no more: who asks besides is answered at once or waits, bounded")
    func hanging() async throws {
        try folder.put("x", "file")
        let root = root
        let gate = Semaphore()
        let files = LocalFiles(home: nil, hidden: []) { _ in
            gate.wait()
            gate.raise()
        }
        let answers = Locked<[FileRefusal?]>([])
        for _ in 0..<100 {
            files.read(["\(root)/file"], atMost: 10) { result in
                let refusal = if case .failure(let refusal) = result { refusal } else { FileRefusal?.none }
                answers.withLock { $0.append(refusal) }
            }
        }
        // 4 hang and 64 wait, or fewer if the threads have not begun yet.
        let early = answers.withLock { $0 }
        #expect((32...36).contains(early.count) && early.allSatisfy { $0 == .unknown })
        gate.raise()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let isDone = Locked(false)
            @Sendable func look() {
                files.look(at: "\(root)/file") { _ in
                    if answers.withLock({ $0.count }) < 100 { return look() }
                    let isFirst = isDone.withLock { isDone in
                        defer { isDone = true }
                        return !isDone
                    }
                    if isFirst { done.resume() }
                }
            }
            look()
        }
        #expect(answers.withLock { $0.filter { $0 == nil }.count } == 100 - early.count)
    }

    @Test("jobs whose threads cannot be started are refused, each of them, also those of callers who came meanwhile")
    func withoutThreads() {
        let told = Locked<[String]>([])
        let meanwhile = Locked(["third", "second"])
        let pool = Locked<WorkerPool?>(nil)
        @Sendable func submit(_ name: String) {
            let own = pool.withLock { $0 }
            own?.run(
                { told.withLock { $0.append("\(name) ran") } },
                orElse: { told.withLock { $0.append("\(name) was refused") } })
        }
        let made = WorkerPool(workerLimit: 2) { _ in
            if let name = meanwhile.withLock({ $0.popLast() }) { submit(name) }
            return false
        }
        pool.withLock { $0 = made }
        submit("first")
        #expect(told.withLock { $0 } == ["first was refused", "second was refused", "third was refused"])
        pool.withLock { $0 = nil }
    }
}
