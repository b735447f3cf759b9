// Requirements of hardening: H1xx containment, H2xx event loop, H3xx hostile repositories, H4xx approvals, H5xx data, H6xx locks and ids.

export const HARDENING_REQUIREMENTS = [
  // H100 to H149: failures are contained.
  {
    id: "H100",
    text: "file predicates are total: project entries through files, link loops and long names end neither agent nor commands",
  },
  { id: "H101", text: "a session's folder below a file: its servers fail with a clear reason, other sessions go on" },
  { id: "H102", text: "out of file descriptors: children and threads that cannot be started are values" },
  { id: "H103", text: "an unwritable temporary folder costs the call with the long message, and nothing else" },
  { id: "H104", text: "JSON from outside nested deeper than 256 levels is refused with the limit named, under its id" },
  {
    id: "H105",
    text: "tool calls nested too deep are refused to the model; journals that hold such records load with a placeholder",
  },
  { id: "H106", text: "what a queued start or a listener of a cell throws is contained and reported" },
  { id: "H107", text: "what nobody caught is logged with its stack, told to the sessions, and ends none of them" },
  // H150 to H199: fault enumeration, the World contract, fuzzing.
  {
    id: "H150",
    text: "any one failing operation (files, processes, threads, network) of ten whole programs: the process lives, other sessions work, the person is told why, journals load, nothing leaks",
  },
  {
    id: "H151",
    text: "while a journal cannot be written prompts fail with the reason; no acknowledged turn is lost, and the session goes on once it can",
  },
  { id: "H152", text: "one contract holds for the real World and for the fake one" },
  {
    id: "H153",
    text: "whatever working directories, project files, ids, depths, sizes and timing a client brings, with servers attached, the agent goes on",
  },
  { id: "H154", text: "a configuration file that cannot be read for a moment takes away no server and no rule" },
  // H200 to H299: the event loop is never held.
  {
    id: "H200",
    text: "ignore files of any content do not hold the event loop in find_files and grep; rules beyond the limits are named",
  },
  {
    id: "H201",
    text: "rules of an untrusted project do not hold the event loop for any text; what they cannot tell in bounded steps is asked about",
  },
  { id: "H203", text: "fetch_url reads any page of 5 MB in slices; the text made of it and its nesting are bounded" },
  { id: "H204", text: "progress notices of servers are paced and cut, whatever their number and length" },
  {
    id: "H205",
    text: "a server's event id never breaks a request, and an answer that is none (101) ends the call at once with the reason",
  },
  {
    id: "H206",
    text: "a model that sends no byte for a set time is given up: asked again where nothing was streamed, else with the reason",
  },
  { id: "H202", text: "diffs of any two texts are bounded in steps and in what is shown" },
  // H300 to H349: launchers in hostile folders.
  {
    id: "H300",
    text: "launchers x traps: nothing in the session's folder replaces the program, package or module of a server that does not come from the project",
  },
  { id: "H301", text: "the attack matrix is one table-driven suite of at least 150 cells" },
  {
    id: "H302",
    text: "a server of the user or the editor that is started by a launcher runs its own package or module, never one that the session's folder has under that name",
  },
  { id: "H303", text: "such a server still gets the session's folder as its working directory" },
  {
    id: "H304",
    text: "where the folder cannot be kept out of a launch, it is asked once per folder and server, with the reason, and bound to the content of the file that would run",
  },
  {
    id: "H305",
    text: "where nobody can be asked, such a server fails with that reason; data arguments never cause a question",
  },
  // H350 to H399: project trust.
  {
    id: "H350",
    text: "an approval of a project's server covers the real path of its program and the content of the program or script that lies in the project",
  },
  { id: "H351", text: "an approval in one project never applies to another one" },
  { id: "H352", text: "approvals in the older form are asked about once more, with the reason; denials stay" },
  { id: "H353", text: "trust questions are one per file, and an answer covers exactly the entries that are listed" },
  {
    id: "H354",
    text: "a project file brings at most 20 servers; the others are not loaded and are named in one bounded notice",
  },
  // H400 to H449: grants.
  {
    id: "H400",
    text: "grants x wider actions: a grant covers exactly what its label says; anything wider is asked about",
  },
  {
    id: "H401",
    text: "a question has at most one option of each kind, each label says exactly what it grants, and a grant is plain data",
  },
  {
    id: "H402",
    text: "a grant covers what its label says, in later sessions of the project and headless; edits per session",
  },
  {
    id: "H403",
    text: "a decision that cannot be read is asked about in every mode, and refused headless, with the file and what to do",
  },
  {
    id: "H404",
    text: "approvals of before: never stays, always of a server's tool is confirmed once for a project, others lapse; told once",
  },
  { id: "H405", text: "tenon trust and /permissions list, revoke, and alone grant all current tools of a server" },
  {
    id: "H406",
    text: "afterUntrusted: after content from outside tools that send or write are asked about, whatever is granted, also after a load",
  },
  {
    id: "H407",
    text: "allow rules on commands are for whole words of one simple command; deny rules match any command of a line",
  },
  // H450 to H499: protected files, checked writes, what a question shows.
  {
    id: "H450",
    text: "modes x protected paths: files that git, the shell, the editor or Tenon execute or obey are asked about in every mode but an explicit bypass, Tenon's own always",
  },
  {
    id: "H451",
    text: "mode auto-edit asks about .git/config, .git/hooks and other files that programs execute or obey, also after an approval",
  },
  { id: "H452", text: "Tenon's own configuration, state and trust are asked about in every mode, bypass included" },
  {
    id: "H453",
    text: "an explicit bypass, or a rule of the user's that names the path exactly, opens a protected file; wider rules do not",
  },
  {
    id: "H454",
    text: "a write is made only against the content its shown change was made from: changed meanwhile, it is asked about again, a bounded number of times",
  },
  {
    id: "H455",
    text: "a question shows the server's name, the tool's name and the arguments, bounded and marked; a server's title is one line, cut, marked as its words",
  },
  {
    id: "H456",
    text: "tools whose names, titles or servers imitate another's or a built-in tool are flagged in the question, by why and by mcp tools",
  },
  // H500 to H549: what servers and files say stays data; secrets.
  {
    id: "H500",
    text: "secrets x sinks: no secret reaches a model, a log, a journal, a trace, a command or another server",
  },
  {
    id: "H501",
    text: "sources x models: no hidden character and no forged line of a server, a file, a command or a clipboard reaches a model of any provider unmarked; what a model writes by a marked schema reaches the server under its own names",
  },
  { id: "H502", text: "sources x editors: the same for every text an ACP client is sent to show" },
  { id: "H503", text: "sources x terminals: the same for everything the command line prints" },
  {
    id: "H504",
    text: "commands get no variable that the strong detector calls a secret; a failing command and the doctor name what was withheld, and the user's configuration can allow a variable by name",
  },
  // H550 to H599: sandbox and git; process tracking.
  {
    id: "H550",
    text: "a sandboxed server cannot make git run a program: repositories are read-only, none can be made at the top",
  },
  {
    id: "H551",
    text: "a git repository that appears elsewhere in the session's directories is reported before the next prompt",
  },
  { id: "H552", text: "a daemon that clears its environment and leaves its session and parents ends with the session" },
  // H600 to H699: locks, ids, shutdown.
  { id: "H650", text: "an ACP message over 32 MiB is answered with an error under its own id" },
  { id: "H651", text: "shutdown is graceful, bounded and leaves nothing, whatever the client does" },
  { id: "H600", text: "a lock that a dead process left is taken over by exactly one of the processes that find it" },
  { id: "H601", text: "two processes never have one session open, and no acknowledged turn is lost" },
  { id: "H602", text: "an id in use is refused, and the session that has it goes on" },
  { id: "H603", text: "ids are checked at every public entrance: none becomes a path outside the state folder" },
  { id: "H604", text: "nothing that is no regular file is replaced by a write: devices and pipes are written into" },
  {
    id: "H605",
    text: "a !command secret runs once per process and text, and again only when it failed or was refused",
  },
] as const;
