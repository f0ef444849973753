import Dispatch
import Glibc

/// Opens web addresses with the desktop's own program.
struct Browser {
    /// The desktop's program for addresses, or nil if there is no desktop.
    private let program: String?

    init(environment: [String: String]) {
        let named = (environment["BROWSER"] ?? "").split(separator: ":").first.map(String.init)
        if let named, !named.contains(where: { $0 == " " || $0 == "%" }) {
            program = named
        } else {
            let hasDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
            program = hasDesktop ? "xdg-open" : nil
        }
    }

    /// True if a program took the address. The address is an argument, past any shell, and the program's output is discarded.
    func open(_ address: String) -> Bool {
        guard let program else { return false }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        Self.letGo(&attributes)
        var arguments = [strdup(program), strdup(address), nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        guard posix_spawnp(&child, program, &actions, &attributes, &arguments, environ) == 0 else { return false }
        Self.reap(child)
        return true
    }

    /// Resets signals that the bridge blocks or ignores: the browser would inherit that, and not end on request. A session of its own
    /// keeps Ctrl-C on our terminal from it.
    private static func letGo(_ attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | newSession))
    }

    /// `POSIX_SPAWN_SETSID` of glibc's spawn.h, which hides it from Swift behind `_GNU_SOURCE`.
    private static let newSession: Int32 = 0x80

    /// The browser may live as long as this process, so a thread of its own waits for its end.
    private static func reap(_ child: pid_t) {
        DispatchQueue(label: "browser").async {
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
        }
    }
}
