import Files
import Glibc
import Locking
import Testing

@Suite("The lock of a state directory")
struct InstanceLockTests {
    @Test("a second bridge is refused and told who is first")
    func second() throws {
        let folder = try Folder()
        let first = try InstanceLock(directory: folder.path)
        let error = #expect(throws: FileError.self) { try InstanceLock(directory: folder.path) }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("process \(getpid())") == true)
        withExtendedLifetime(first) {}
    }

    @Test("a lock that was let go can be taken again, and nobody has it meanwhile")
    func again() throws {
        let folder = try Folder()
        do {
            let lock = try InstanceLock(directory: folder.path)
            #expect(try InstanceLock.holder(directory: folder.path) == .process(getpid()))
            withExtendedLifetime(lock) {}
        }
        #expect(try InstanceLock.holder(directory: folder.path) == .nobody)
        #expect(throws: Never.self) { try InstanceLock(directory: folder.path) }
    }

    @Test("a child that is being started, and has the lock's descriptor still, does not keep the lock")
    func copied() throws {
        let folder = try Folder()
        let copies: [Int32]
        do {
            let lock = try InstanceLock(directory: folder.path)
            copies = folder.opened("sophon-bridge.lock").map { dup($0) }
            withExtendedLifetime(lock) {}
        }
        defer { for copy in copies { close(copy) } }
        #expect(copies.count == 1)
        #expect(try InstanceLock.holder(directory: folder.path) == .nobody)
        #expect(throws: Never.self) { try InstanceLock(directory: folder.path) }
    }

    @Test("nobody holds what was never made")
    func absent() throws {
        let folder = try Folder()
        #expect(try InstanceLock.holder(directory: folder.path + "/none") == .nobody)
    }

    @Test("a pipe in the lock's place is looked at without waiting for its writer")
    func pipe() throws {
        let folder = try Folder()
        #expect(mkfifo(InstanceLock.path(in: folder.path), 0o600) == 0)
        #expect(try InstanceLock.holder(directory: folder.path) == .nobody)
    }

    @Test("the directory is made, and file and directory are for the owner alone")
    func modes() throws {
        let folder = try Folder()
        let lock = try InstanceLock(directory: folder.path + "/state")
        #expect(folder.mode("state") == 0o700)
        #expect(folder.mode("state/sophon-bridge.lock") == 0o600)
        withExtendedLifetime(lock) {}
    }

    @Test("a look from outside at the same moment does not keep a bridge from starting")
    func looked() throws {
        let folder = try Folder()
        _ = try InstanceLock(directory: folder.path)
        let thread = Looker(directory: folder.path)
        defer { thread.end() }
        for _ in 0..<200 { _ = try InstanceLock(directory: folder.path) }
    }

    @Test("a directory that cannot be written is said with the remedy")
    func unwritable() throws {
        let folder = try Folder()
        try folder.put("", "file")
        let error = #expect(throws: FileError.self) { try InstanceLock(directory: folder.path + "/file/state") }
        #expect(error?.code == .unwritable)
    }
}

/// Looks at the lock all the time, on a thread of its own.
private final class Looker: @unchecked Sendable {
    // Unchecked: `thread` is written before the object is shared, and the thread is joined.
    private let isOver = Locked(false)
    private var thread = pthread_t()
    private let directory: String

    init(directory: String) {
        self.directory = directory
        pthread_create(
            &thread, nil,
            { @Sendable pointer in
                guard let pointer else { return nil }
                let looker = Unmanaged<Looker>.fromOpaque(pointer).takeUnretainedValue()
                while !looker.isOver.withLock({ $0 }) { _ = try? InstanceLock.holder(directory: looker.directory) }
                return nil
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func end() {
        isOver.withLock { $0 = true }
        pthread_join(thread, nil)
    }
}
