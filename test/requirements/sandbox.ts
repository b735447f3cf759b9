// What must hold of the sandbox around servers (issue 8).

export const SANDBOX_REQUIREMENTS = [
  {
    id: "X1",
    text: "in a sandbox a server writes in the session's directories only, and nowhere in read-only; hooks and settings of git stay as they are, and links lead nowhere else",
  },
  {
    id: "X2",
    text: "without the grant there is no network: no TCP, UDP or names, not even this machine's own, and no sockets of others; with it there is",
  },
  {
    id: "X3",
    text: "a server in a sandbox sees neither the person's home nor Tenon's folders nor the host's environment, and has an empty home and /tmp of its own",
  },
  {
    id: "X4",
    text: "a server in a sandbox sees and signals no process but its own, has no powers, and cannot change the kernel's settings",
  },
  {
    id: "X5",
    text: "server-everything, server-filesystem and server-memory work in a sandbox as they do without",
  },
  {
    id: "X6",
    text: "without a bubblewrap that works, a server that must run in a sandbox is not started, and its status says what to do",
  },
  {
    id: "X7",
    text: "a layer's least sandbox holds for every server of it; an entry and a project can only tighten it; what cannot be read counts as the strictest",
  },
  {
    id: "X8",
    text: "the person sets the least sandbox of a session through its config option, never below the configuration's; servers are started anew in it, and status and notices say so",
  },
  {
    id: "X9",
    text: "whatever ends a sandboxed server or Tenon itself, SIGKILL included, leaves no process; a server still has its time to end after SIGTERM",
  },
  {
    id: "X10",
    text: "what npx runs is downloaded apart, with nothing of the person's in reach, and runs without network; other programs that download are refused without; all keep what they download to themselves",
  },
] as const;
