import {
  ArrowDown, ArrowUp, BookOpen, Check, ClipboardCheck, ChevronDown, ChevronLeft, ChevronRight, Copy, Gauge, House, KeyRound, ListChecks, LogOut, Menu, MessageCircle,
  MessagesSquare, Minus, Monitor, Moon, Plus, RefreshCw, Search, Settings, Sun, Trash2, TriangleAlert, Users, X,
} from "lucide";

const ICONS = {
  alert: TriangleAlert, back: ChevronLeft, book: BookOpen, chat: MessageCircle, check: Check, close: X, copy: Copy, dark: Moon, down: ArrowDown,
  gauge: Gauge, reviews: ClipboardCheck, home: House, jobs: ListChecks, key: KeyRound, leave: LogOut, less: Minus, light: Sun, menu: Menu, more: Plus, next: ChevronRight,
  open: ChevronDown, refresh: RefreshCw, search: Search, sessions: MessagesSquare, settings: Settings, system: Monitor, trash: Trash2, up: ArrowUp,
  users: Users,
};

/** A picture beside words, or in a button that has a name: readers of the screen skip it. */
export const Icon = ({ name, size = 16 }) => (
  <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor"
    stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
    {ICONS[name].map(([Tag, attributes]) => <Tag {...attributes} />)}
  </svg>
);
