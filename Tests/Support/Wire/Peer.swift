import Glibc
import Locking

/// A Python program of Tests/Peers, run as a child. Closing its standard input ends it, so it never outlives this
/// process.
package final class Peer: Sendable {
    package enum Failure: Error { case cannotStart(String), timedOut, ended }

    private let child: pid_t
    private let input: Int32
    private let output: Int32
    private let buffered = Locked<[UInt8]>([])

    /// Serialises starts: a child that inherits another's pipes would keep them open.
    private static let starting = Locked(())

    /// `root` is the folder that holds Package.swift.
    package init(_ script: String, _ arguments: [String] = [], root: String) throws {
        let python = root + "/.build/python/bin/python"
        guard access(python, X_OK) == 0 else {
            throw Failure.cannotStart("\(python) is missing; run `make setup`")
        }
        let words = [python, "\(root)/Tests/Peers/\(script)"] + arguments
        (child, input, output) = try Self.starting.withLock { _ in try Self.spawn(words) }
    }

    deinit {
        close(input)
        close(output)
        kill(child, SIGKILL)
        var status: Int32 = 0
        waitpid(child, &status, 0)
    }

    private static func spawn(_ words: [String]) throws -> (pid_t, Int32, Int32) {
        var input: [Int32] = [0, 0]
        var output: [Int32] = [0, 0]
        guard pipe(&input) == 0, pipe(&output) == 0 else { throw Failure.cannotStart("no pipe") }
        for descriptor in input + output { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let status = posix_spawn(&child, words[0], &actions, nil, &arguments, environ)
        close(input[0])
        close(output[1])
        guard status == 0 else { throw Failure.cannotStart(String(cString: strerror(status))) }
        return (child, input[1], output[0])
    }

    /// The next line of the program's output.
    package func line() throws -> String {
        try buffered.withLock { buffered in
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while true {
                if let end = buffered.firstIndex(of: 10) {
                    defer { buffered.removeFirst(end + 1) }
                    return String(decoding: buffered[..<end], as: UTF8.self)
                }
                var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, Int32(patience * 1_000)) == 1 else { throw Failure.timedOut }
                let count = read(output, &chunk, chunk.count)
                guard count > 0 else { throw Failure.ended }
                buffered += chunk[..<count]
            }
        }
    }
}
