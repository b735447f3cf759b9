// What can go wrong with an HTTP answer, on demand: statuses, redirects, resets, half frames, drips, bodies without end.
import type { ServerResponse } from "node:http";
import { unreachable } from "../../../base/id.js";

export type HttpFault =
  /** A whole answer, verbatim. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  /** The connection is reset before a byte of the answer. */
  | { readonly kind: "reset" }
  /** Never answers. */
  | { readonly kind: "hang" }
  /** The head and the beginning of a body, then the connection is cut. */
  | { readonly kind: "half"; readonly contentType: string; readonly body: string }
  /** The head, then one byte at a time, for ever. */
  | { readonly kind: "drip"; readonly contentType: string; readonly everyMs: number }
  /** A body without end, as fast as it is read. */
  | { readonly kind: "endless"; readonly contentType: string; readonly start?: string }
  /** An event stream written verbatim, which then ends unless it is to stay. */
  | { readonly kind: "events"; readonly text: string; readonly stays?: boolean };

export interface FaultMatch {
  /** The HTTP method; any when left out. */
  readonly http?: "GET" | "POST" | "DELETE";
  /** The JSON-RPC method of the message; any when left out. */
  readonly method?: string;
}

const CHUNK: Buffer = Buffer.alloc(65_536, "x");

/** The faults of one server, planted for some of its requests. */
export class HttpFaults<Request> {
  readonly #planted: { readonly fits: (request: Request) => boolean; readonly fault: HttpFault; left: number }[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();

  plant(fits: (request: Request) => boolean, fault: HttpFault, times: number = Number.POSITIVE_INFINITY): void {
    this.#planted.push({ fits, fault, left: times });
  }

  clear(): void {
    this.#planted.length = 0;
  }

  /** True when the request has been dealt with. The fault planted last wins. */
  strike(request: Request, response: ServerResponse): boolean {
    const planted = this.#planted.findLast(({ fits, left }) => left > 0 && fits(request));
    if (!planted) return false;
    planted.left -= 1;
    this.#perform(planted.fault, response);
    return true;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #perform(fault: HttpFault, response: ServerResponse): void {
    switch (fault.kind) {
      case "answer":
        response.writeHead(fault.status, { ...fault.headers }).end(fault.body ?? "");
        break;
      case "reset":
        response.socket?.resetAndDestroy();
        break;
      case "hang":
        break;
      case "half":
        response.writeHead(200, { "content-type": fault.contentType });
        response.write(fault.body, () => response.destroy());
        break;
      case "drip": {
        response.writeHead(200, { "content-type": fault.contentType });
        const timer = setInterval(() => response.write(" "), fault.everyMs);
        this.#timers.add(timer);
        response.on("close", () => clearInterval(timer));
        break;
      }
      case "endless":
        response.writeHead(200, { "content-type": fault.contentType });
        if (fault.start !== undefined) response.write(fault.start);
        pour(response);
        break;
      case "events":
        response.writeHead(200, { "content-type": "text/event-stream" }).write(fault.text);
        if (fault.stays !== true) response.end();
        break;
      default:
        unreachable(fault);
    }
  }
}

function pour(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write(CHUNK));
  };
  response.on("drain", more);
  more();
}
