import FoundationEssentials
import Glibc
import Testing
import WireTesting

@testable import LocalServer

@Suite("A server on a Unix socket")
struct LocalSocketTests {
    private static let answer: @Sendable (LocalRequest) -> LocalAnswer = { _ in .whole(.text(200, "ok")) }

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "socket-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.path + "/s")
    }

    private func server(_ path: String) throws -> LocalServer {
        try LocalServer(at: ListenAddress(socket: path), handler: Self.answer)
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode : nil
    }

    private func failure(_ path: String) throws -> LocalServerError? {
        do { try server(path).start() } catch { return error as? LocalServerError }
        return nil
    }

    @Test("it answers its owner, and takes its file away when it stops")
    func serves() throws {
        try withFolder { path in
            let server = try server(path)
            try server.start()
            #expect(mode(path) == S_IFSOCK | 0o600)
            #expect(try Wire(socket: path).exchange("GET", "/").status == 200)
            server.stop()
            #expect(mode(path) == nil)
        }
    }

    @Test("a socket that nobody listens on is replaced, and one that is in use is not")
    func stale() throws {
        try withFolder { path in
            let left = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var raw = sockaddr_un()
            raw.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &raw.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &raw) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(left, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            #expect(bound == 0)
            close(left)
            #expect(mode(path) != nil)
            let first = try server(path)
            try first.start()
            #expect(try failure(path)?.code == .portInUse)
            #expect(try Wire(socket: path).exchange("GET", "/").status == 200)
            first.stop()
        }
    }

    @Test("a file that is no socket stays, and a folder that is not there is an error")
    func otherFiles() throws {
        try withFolder { path in
            try "kept".write(toFile: path, atomically: false, encoding: .utf8)
            #expect(try failure(path)?.code == .badAddress)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "kept")
            #expect(try failure(path + "x/s")?.code == .notPermitted)
            symlink("/nowhere", path + "l")
            #expect(try failure(path + "l")?.code == .badAddress)
        }
    }

    @Test("no file is left where the system lets nobody listen on it")
    func refused() throws {
        try withFolder { path in
            #expect(throws: LocalServerError.self) {
                try ListeningSocket(ListenAddress(socket: path), listens: { _, _ in -1 })
            }
            #expect(mode(path) == nil)
        }
    }

    @Test("its file is left alone where another program has put its own there")
    func replaced() throws {
        try withFolder { path in
            let first = try server(path)
            try first.start()
            unlink(path)
            let second = try server(path)
            try second.start()
            first.stop()
            #expect(try Wire(socket: path).exchange("GET", "/").status == 200)
            second.stop()
        }
    }

    @Test("callers are not judged where the settings say so")
    func unjudged() throws {
        var settings = LocalServer.Settings()
        settings.judgesCallers = false
        try withServer(settings: settings, handler: Self.answer) { server in
            let wire = try Wire(port: server.port)
            #expect(try wire.exchange("GET", "/", headers: ["Origin: http://elsewhere.example"]).status == 200)
        }
    }
}
