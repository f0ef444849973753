import Glibc

/// A short program that is run for its output.
enum ChildProcess {
    struct Result {
        var status: Int32
        /// Standard output and standard error, in the order of arrival.
        var text: String
    }

    private static let textLimit = 1 << 16

    /// Nil if the program could not be started. Arguments pass no shell.
    static func run(_ words: [String]) -> Result? {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        posix_spawn_file_actions_addclose(&actions, ends[1])
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let isStarted = posix_spawnp(&child, words[0], &actions, nil, &arguments, environ) == 0
        close(ends[1])
        guard isStarted else { return nil }
        let text = read(ends[0])
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // Computed as by WIFEXITED and WEXITSTATUS; a signal counts as a failure.
        return Result(status: status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F), text: text)
    }

    /// Reads to the end, so that the child never blocks on a full pipe; output over the limit is dropped.
    private static func read(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            if bytes.count < textLimit { bytes += piece.prefix(count) }
        }
    }
}
