// What the parts of the Streamable HTTP transport ask of it.
import type { IncomingMessage as HttpResponse } from "node:http";
import type { OutgoingMessage, RpcId } from "../json-rpc.js";
import type { SendHint } from "../transport.js";
import type { Stoppable } from "./answered-streams.js";
import type { HttpHandler, OpenRequest } from "./exchange.js";
import type { Incoming } from "./incoming.js";
import type { IntakeParts } from "./intake.js";
import type { Refused } from "./refusal.js";

/** A request of ours. */
export type Request = OutgoingMessage & { readonly id: RpcId; readonly method: string };

/** How a request ends that gets no answer. */
export type Unanswered = Exclude<Refused, { readonly kind: "answer" }>;

export interface Channel extends IntakeParts {
  /** A broken stream can be taken up where it broke: not in the modern era. */
  readonly mayResume: boolean;
  post(request: Request, hint: SendHint | undefined, handler: HttpHandler): OpenRequest;
  /** Opens an event stream with GET, after that event when given. */
  openStream(lastEventId: string | undefined, handler: HttpHandler): OpenRequest;
  /** Tells what came, whoever it is for. */
  hear(incoming: Incoming): void;
  /** Reads an answer that is no success. */
  judge(response: HttpResponse, id: RpcId | undefined, done: (refused: Refused) => void): void;
}

/** What a request asks of the transport besides. */
export interface PostChannel extends Channel {
  /** The head of a success, before its body is read. */
  accepted(request: Request, response: HttpResponse): void;
  /** At most once, and not after it was answered or stopped. */
  unanswered(id: RpcId, why: Unanswered): void;
  /** It was answered before, and now its stream has ended too. */
  finished(post: Stoppable): void;
}
