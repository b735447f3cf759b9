// Requirements of the gateway: G10x stored sessions and their log, G15x clients of a session, G2xx turns that go on, G3xx who gets in, and the server; G40x the translator; G45x the terminal, lists and notices; G69x the page.

export const GATEWAY_REQUIREMENTS = [
  // G100 to G149: the store of sessions, and the log that clients follow.
  {
    id: "G100",
    text: "records of a session count from 1 without a gap; they are read in order from any number on, also while they are written",
  },
  {
    id: "G101",
    text: "a session has one owner; another gets it once that one has released it or is dead, under a higher epoch; appends of an owner that was superseded are refused, and it is told",
  },
  {
    id: "G102",
    text: "sessions are copied, removed, titled and listed through one store, with the results they keep; turns of clients that were left open are found",
  },
  {
    id: "G103",
    text: "damage to a stored session costs what follows it, is told, and does not keep the session from being read and written on",
  },
  {
    id: "G104",
    text: "a client follows a session from any record on: what is stored, then what happens, without a gap or a repeat, the same events as live readers; a number beyond the log is refused",
  },
  {
    id: "G105",
    text: "a follower that does not read holds no turn up and has no queue; it goes on from the store where it was, and long media are read one by one",
  },
  {
    id: "G106",
    text: "under random schedules of appends, followers, crashes, takeovers and failing disks no follower has a gap or a repeat, and no call has two outcomes",
  },
  // G150 to G199: many clients, their questions and their prompts.
  {
    id: "G150",
    text: "a session has any number of clients: files and terminal are of the one whose prompt runs, else of the earliest controller that has them, else the local ones; an observer's are never used",
  },
  {
    id: "G151",
    text: "a question is put to every controller that may approve; the first valid answer counts, the others' requests are withdrawn and all are told who answered; a late answer has no effect",
  },
  {
    id: "G152",
    text: "a client that joins is asked everything still open, whole; one that leaves during a question leaves it to the others",
  },
  { id: "G153", text: "a client that answers by itself is asked only in turns that it started" },
  {
    id: "G154",
    text: "with nobody attached a question is declined, or waits up to a day where the host says so; the session is then waiting, and its turn goes on with the answer",
  },
  {
    id: "G155",
    text: "every kind of question is journaled when asked and when answered, with who answered; never what was filled in, nor a server's configuration",
  },
  { id: "G156", text: "an answer that was never offered counts as no, by whatever way it comes" },
  { id: "G157", text: "cancelling a turn withdraws its questions from every client" },
  {
    id: "G158",
    text: "one turn at a time: as many prompts wait as the host allows, each can be taken back by its sender, and the next is refused as busy",
  },
  {
    id: "G159",
    text: "a prompt sent again under its id is joined or answered from its record, also after a load; other content under that id is refused",
  },
  // G200 to G239: turns that go on in another process.
  {
    id: "G200",
    text: "the model's answer is recorded whole, with what its provider wants back, before any of its calls runs; no call is sent before its intent is durable",
  },
  {
    id: "G201",
    text: "a turn goes on in the next process from any record: it ends, every call has one outcome, no call id is used twice, and the conversation is one that providers take",
  },
  {
    id: "G202",
    text: "a call that was sent and has no outcome is not sent again: a task is asked for by its id, a call that the user calls idempotent is sent again, and of all others the outcome is unknown",
  },
  {
    id: "G203",
    text: "providers that want signed thoughts, thought signatures or reasoning items back take a tool turn that another process continues",
  },
  {
    id: "G204",
    text: "the servers are started before a turn goes on; the model is told with the first result that what they held in memory is gone, and people are told when an answer begins again",
  },
  {
    id: "G205",
    text: "a turn that was continued three times in a row without a new outcome or answer ends with session.gave_up; one that was left on purpose does not count",
  },
  {
    id: "G206",
    text: "draining leaves the turn to the next process: no further call is sent, calls under way get their time, and nobody is told that the turn ended",
  },
  {
    id: "G207",
    text: "a prompt that waits for a continued turn by its id gets the end of that turn, and prompts that wait are run after it",
  },
  {
    id: "G208",
    text: "a turn that was cancelled, refused or had its last words is not run again, nor is a command; a copy of a session does not continue the turn of its original",
  },
  // G300 to G349: access and server.
  {
    id: "G300",
    text: "ACP over WebSocket and over Streamable HTTP at /acp, at an address with or without TLS and at a unix socket",
  },
  {
    id: "G301",
    text: "over TCP every connection needs a bearer token; Host, Origin and token are checked before any body is read, and refusals give no detail",
  },
  { id: "G302", text: "a token is shown once, kept as a hash, bound to an account and scopes, and expires" },
  {
    id: "G303",
    text: "a revoked or expired token ends its connections within a second, also when another process revoked it",
  },
  { id: "G304", text: "every method needs a scope; what is denied names the scope and has no effect" },
  { id: "G305", text: "connections, requests, heads, bodies and frames are bounded in size, number and time" },
  { id: "G306", text: "a client that does not read, answer pings or send initialize is let go and delays nobody" },
  { id: "G307", text: "messages that are none are answered with id null; twenty in a minute end the connection" },
  { id: "G308", text: "an HTTP connection id is of use to the token that made it only" },
  { id: "G309", text: "log-ins, refusals, denials and tokens are in a bounded audit file, without contents" },
  {
    id: "G310",
    text: "a gateway listens only after its certificates, its socket folder and its port were found to be in order",
  },
  { id: "G311", text: "/healthz, /readyz and /metrics answer without revealing sessions" },
  { id: "G312", text: "tenon gateway token creates, lists and revokes tokens" },
  { id: "G313", text: "no token and no environment of a client is in state, log, journal or trace" },
  // G400 to G449: the translator.
  {
    id: "G400",
    text: "tenon acp --gateway starts the local gateway if none runs; of several at once one starts it, and it does not depend on any of them",
  },
  {
    id: "G401",
    text: "a session opened through one translator is joined through another, and both see the same numbered updates",
  },
  {
    id: "G402",
    text: "an editor that is killed during a turn loses nothing: the turn goes on or waits, and the editor that comes back loads all of it",
  },
  {
    id: "G403",
    text: "a lost connection is resumed for as long as it takes: no update is missing or repeated, prompts run and are answered once, nothing is asked twice",
  },
  {
    id: "G404",
    text: "a gateway that is killed is started again, and the turns of connected editors go on in it",
  },
  {
    id: "G405",
    text: "sessions have the environment of their client, sent over the unix socket only and kept in memory only",
  },
  {
    id: "G406",
    text: "where no gateway can be used, the agent runs in the translator and the person is told that the session ends with the editor",
  },
  {
    id: "G407",
    text: "an older gateway that is idle is replaced; a busy one is used if it speaks the same protocol, and otherwise told of",
  },
  {
    id: "G408",
    text: "translators that lose their connection all at once are back within 3 s, and no MCP server notices",
  },
  {
    id: "G409",
    text: "another gateway is reached by its URL with a token from a file or a variable, never from the URL; ws:// to another machine needs --insecure",
  },
  {
    id: "G410",
    text: "over TCP, a gateway refuses stdio servers and private addresses of a client with a reason, and a translator sends it no environment, files and terminals",
  },
  { id: "G411", text: "tenon setup EDITOR --gateway configures the editor for sessions that outlive it" },
  { id: "G412", text: "the translator ends at once with its editor or on a signal, and leaves nothing behind" },
  // G450 to G499: in the terminal, in lists, and elsewhere.
  {
    id: "G450",
    text: "tenon attach shows the conversation of a session, found by its id, the beginning of its id or title, or --last, and goes on with it live: turns and prompts of other clients, and who sent them",
  },
  {
    id: "G451",
    text: "tenon attach asks every open question at once, in whoever's turn; one that is answered elsewhere leaves the screen with the name of who answered",
  },
  {
    id: "G452",
    text: "leaving tenon attach, by /quit, Ctrl-C or the end of the input, never stops the work; /cancel stops the turn, whoever sent it",
  },
  { id: "G453", text: "tenon attach --watch shows everything, sends nothing and is asked nothing" },
  {
    id: "G454",
    text: "the editor ends in the middle of a turn that needs a permission: the turn waits, tenon attach --last answers it, and the editor, started again, loads all of it",
  },
  {
    id: "G455",
    text: "tenon sessions list and show have the state and the open questions of sessions in the gateway, and are as before without one",
  },
  {
    id: "G456",
    text: "gateway.notify posts in the forms json, ntfy and slack when a question has waited, and when a turn ended or failed with no client attached; no contents unless the user says so",
  },
  {
    id: "G457",
    text: "a server of gateway.notify that fails, hangs or refuses is tried three times, logged once without its address, never waited for by a session, and never piled up for",
  },
  {
    id: "G458",
    text: "gateway.notify is read from the user's own configuration only, takes references for address and token, and is not sent over plain http to another machine",
  },
  // G350 to G399: sessions of a gateway.
  {
    id: "G350",
    text: "any number of clients of one session get the same numbered updates in order; what a client said itself is sent to the others only",
  },
  {
    id: "G351",
    text: "a client that was away resumes after a number without a gap or a repeat; a prompt sent again by its id runs once",
  },
  {
    id: "G352",
    text: "a question is put to all clients that may approve, also to those that come later; the first answer counts and the others are told",
  },
  { id: "G353", text: "session/close and a lost connection mean that this client leaves: the turn goes on and waits" },
  { id: "G354", text: "one turn at a time; eight prompts wait in line, a ninth is refused" },
  {
    id: "G355",
    text: "after the gateway was killed the next one continues open turns, and answers their prompts by id",
  },
  { id: "G356", text: "SIGTERM takes no more prompts and leaves what does not end in time to the next gateway" },
  { id: "G357", text: "ids of clients, roles, ids of sessions and directories are decided by the gateway" },
  { id: "G358", text: "a session that another process has open is refused, with the process and what to do" },
  {
    id: "G359",
    text: "tenon gateway status and stop; a second gateway is refused; an idle one ends by itself if told to",
  },
  // G530 to G549: its documents.
  { id: "G530", text: "the example of the reference is answered by a gateway as the page says" },
  { id: "G531", text: "tenon doctor says whether a gateway runs, and what it does" },
  // G500 to G529: what the gateway promises as a whole.
  {
    id: "G500",
    text: "a gateway that is killed under running turns comes back by its translators: every prompt is answered, and no update is missing or repeated",
  },
  {
    id: "G501",
    text: "a kill of the gateway leaves no process behind, and no call that is not idempotent is made twice",
  },
  {
    id: "G502",
    text: "translators that lose the socket all at once are back within seconds, and no MCP server is connected to anew",
  },
  {
    id: "G503",
    text: "two editors on one session are shown the same updates in the same order; one that is killed in the middle of a turn returns without a gap or a repeat",
  },
  {
    id: "G504",
    text: "a prompt that an editor sends again under its id after it was killed is answered from the turn that ran",
  },
  {
    id: "G505",
    text: "clients that join, prompt, are cut off and leave, thousands of them, leave no open file, no process and no memory behind",
  },
  // G550 to G559: the environment of the local gateway, and of turns that it continues.
  {
    id: "G550",
    text: "a gateway that a translator starts has variables of the machine only: no key and no other variable of that client is seen by sessions of others",
  },
  {
    id: "G551",
    text: "a turn that was begun in a client's environment is marked so in the journal, without any variable, and goes on when a client brings its environment",
  },
  {
    id: "G552",
    text: "without its client it goes on after a minute in the gateway's own environment; others after a moment",
  },
  {
    id: "G553",
    text: "where the model has no key the turn stays open, in the state waiting and with the reason, until a client brings one",
  },
  {
    id: "G554",
    text: "a session whose turn waits for a client rests, does not keep the gateway up, and can be cancelled",
  },
  { id: "G555", text: "a session that was opened without a model is opened anew for the first client that brings one" },
  // G630 to G659: tools that programs bring.
  {
    id: "G630",
    text: "a client adds tools that it runs itself: the model calls them, progress and cancelling pass, over the gateway and over stdio",
  },
  {
    id: "G631",
    text: "tools with odd names, duplicates, huge and malformed definitions, too many tools or keys: each is named, and the rest works",
  },
  {
    id: "G632",
    text: "a client that answers nonsense, too much, an error or never: each is named to the model, and the session goes on",
  },
  {
    id: "G633",
    text: "tools of a client that is gone: calls under way are unknown, it has a minute to come back, then they are gone with a reason in /why",
  },
  {
    id: "G634",
    text: "two clients with the same key have sets of their own, and none stands in the place of a server",
  },
  {
    id: "G635",
    text: "calls of a client's tools are asked about with who runs them: its hints do not count, an approval is for the session and for this client",
  },
  { id: "G636", text: "a call of a client's tool that has an intent and no outcome is not sent again" },
  {
    id: "G637",
    text: "by the helper of the library a program joins a session, sets tools with handlers, and leaves: calls, failures, progress and cancelling",
  },
  { id: "G638", text: "the helper connects again by itself, joins its sessions and sets their tools again" },
  {
    id: "G639",
    text: "a label is a key to a session: created or joined, listed, begun anew; the session before it stays",
  },
  {
    id: "G640",
    text: "tools without the scope, for sessions of others, progress and answers of others or after the end: refused, or without effect",
  },
  {
    id: "G641",
    text: "the example of the documents: a program adds two tools to a session that an editor has open, the model calls them, it leaves, and they are gone with a reason in /why",
  },
  // G600 to G629: servers of the client, for a gateway on another machine.
  {
    id: "G600",
    text: "a program that an editor hands over is started beside the translator, never at a gateway on another machine, and its tools are the session's",
  },
  {
    id: "G601",
    text: "progress, errors and cancellation of its calls reach the session, in both eras of the protocol",
  },
  {
    id: "G602",
    text: "questions of such a server (elicitation, sampling) are put to the session while the call is held, in both eras; roots are answered on its own machine",
  },
  {
    id: "G603",
    text: "nothing of its command, variables or headers is in the journal, the state or the log of the gateway",
  },
  { id: "G604", text: "a client that is gone ends its running calls as unknown at once" },
  {
    id: "G605",
    text: "the same client that returns within a minute takes its servers up again, and the servers see no new handshake; later they are connected anew",
  },
  {
    id: "G606",
    text: "when the translator dies its servers end with it, the running call ends as unknown, and the session says so",
  },
  {
    id: "G607",
    text: "HTTP servers at loopback and private addresses are dialled by the translator; public ones by the gateway",
  },
  {
    id: "G608",
    text: "a server that cannot or may not be started there is failed for the session, and the person is told the reason on their own machine",
  },
  {
    id: "G610",
    text: "the ids of servers are those of one client: the same id of another client is another server, and no client answers for another",
  },
  {
    id: "G611",
    text: "answers that make no sense, a requestState that nobody knows or of another call, and requests that there are not get an error that says what is wrong; the call that waits is not lost",
  },
  { id: "G609", text: "such servers follow the session: they are changed, copied and ended with it" },
  // G660 to G689: the page, its server half.
  {
    id: "G660",
    text: "the files of the page are served by exact name at addresses, with headers that let nothing foreign in",
  },
  {
    id: "G661",
    text: "a browser that logs in by a token gets a cookie with its rights, which ends with it within a second",
  },
  {
    id: "G662",
    text: "a pairing code lets one browser in, once, within five minutes; guessed, used or late ones are refused and logged",
  },
  {
    id: "G663",
    text: "a cookie counts with our own Origin only; what other sites and names send is refused and logged",
  },
  {
    id: "G664",
    text: "a gateway without an address listens at loopback when a browser is to be let in, and gives out a link",
  },
  { id: "G665", text: "tenon gateway pair prints the link and its QR code" },
  {
    id: "G666",
    text: "tenon inspect gives a link to the page for any session of the machine, also one that only its journal is left of",
  },
  {
    id: "G667",
    text: "a session that is not in memory is read from its journal, also while another process has it open",
  },
  { id: "G668", text: "each tool says why it is, or is not, offered; a trial search has scores and changes nothing" },
  {
    id: "G669",
    text: "a tool called by a person goes through policy and approval, and is recorded as the model's calls are",
  },
  {
    id: "G670",
    text: "servers show latency, restarts and the end of their stderr, and are restarted and logged in to from outside",
  },
  {
    id: "G671",
    text: "changes of sessions carry title, directory, clients, questions and usage; administrators see the connections",
  },
  { id: "G672", text: "the methods of the page need their scopes, and other accounts' sessions do not exist in them" },
  // G560 to G569: what only some clients are shown, and what is written down.
  {
    id: "G560",
    text: "the address of a log-in goes to clients that may approve and to no others, also where none of them can show a page",
  },
  {
    id: "G561",
    text: "commands, settings and answers that a client may not give have a line in the audit file, without contents",
  },
  { id: "G562", text: "the log of a gateway that an editor started is bounded while the gateway runs" },
  {
    id: "G563",
    text: "a client that leaves in the middle of a file request: the file of the next client is used, or that on the disk",
  },
  {
    id: "G564",
    text: "a call is not sent before its intent is durable, and not at all where the store refuses the record",
  },
  {
    id: "G565",
    text: "no client loads a session in another directory, is asked for files in turns of others, or sees questions it may not answer",
  },
  {
    id: "G566",
    text: "tenon gateway run --trace records the messages of all clients, without their keys and environments",
  },
  // G724 to G729: what no client can do to the others.
  {
    id: "G724",
    text: "lists of a request beyond their limits are refused whole, before any entry is looked at, and nothing is started",
  },
  {
    id: "G725",
    text: "a token is revoked by its id, or by a name that it alone has; devices, which name themselves, by id only",
  },
  // G690 to G719: the page in a browser.
  {
    id: "G690",
    text: "the page lists sessions with state, title, folder, clients and open questions, and follows one live: a call is seen from its announcement to its result",
  },
  {
    id: "G691",
    text: "a question is answered in a phone-sized window with all its arguments in view; the dialog of the editor closes, and everybody is told who answered",
  },
  {
    id: "G692",
    text: "a page that is reloaded in the middle of a turn, or whose gateway is killed and comes back, shows everything once and goes on by itself",
  },
  {
    id: "G693",
    text: "hostile output of tools has no effect: no script, no link of a dangerous scheme, no request, and hidden characters are shown as escapes",
  },
  {
    id: "G694",
    text: "the page violates no content security policy, complains of nothing, and asks nobody but its own gateway, whatever its address says",
  },
  {
    id: "G695",
    text: "tools are searched with scores, with the reason why each is offered or not, and called through a form made from their schema",
  },
  {
    id: "G696",
    text: "calls are a waterfall of model calls, tool calls and questions by turn, with arguments and results",
  },
  {
    id: "G697",
    text: "a session that rests, or that another process has, is shown from its journal, read only, and nothing of it is started",
  },
  {
    id: "G698",
    text: "a pairing code leaves the address at once, lets one browser in, and no second one",
  },
  {
    id: "G699",
    text: "the first view takes at most 120 KB compressed and 300 ms on loopback",
  },
  { id: "G700", text: "every view works at 360 pixels, without scrolling sideways, and by keyboard" },
  {
    id: "G701",
    text: "a log-in that may only read is shown everything and offered nothing it may not do",
  },
  {
    id: "G702",
    text: "tenon trace writes the waterfall of a recording or a journal as one file that needs no network, and out of which no recorded text can break",
  },
  // G720 to G729: names that clients choose.
  {
    id: "G720",
    text: "what was allowed of a client's server (tools, resources, use of the model) is for that client: one of the same name of another client is asked about; the same client that returns keeps it",
  },
  {
    id: "G721",
    text: "a question about a client's tool is withdrawn when the tool is gone or another client has its name; a late answer counts for nothing",
  },
  {
    id: "G722",
    text: "a rule that allows a server by its name is not about one that a client reaches itself or named from another machine, unless it says origin",
  },
] as const;
