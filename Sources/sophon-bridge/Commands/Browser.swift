import Glibc

/// Opens web addresses with the desktop's own program.
struct Browser {
    /// Nil: there is no desktop to open anything on.
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

    /// Whether a program took the address. It goes as an argument, past any shell, and the program's own words go nowhere.
    func open(_ address: String) -> Bool {
        guard let program else { return false }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var arguments = [strdup(program), strdup(address), nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        return posix_spawnp(&child, program, &actions, nil, &arguments, environ) == 0
    }
}
