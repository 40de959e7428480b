/** Listens to the keyboard, and shows which keys there are. */
import { useEffect, useState } from "react";
import { useLocation, useNavigate } from "react-router";

import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { CheckField } from "../../ui/Field";
import { t } from "../../words/language";
import { useMe } from "../session";
import { areOn, turn } from "./on";
import { GROUPS, isField, isPlain, pressed, type Shortcut } from "./declared";
import styles from "./Shortcuts.module.css";
import { done, useShortcut } from "./useShortcut";

const PATIENCE = 1500; // milliseconds between the keys of one shortcut

export function Shortcuts() {
  const [isOn, setOn] = useState(areOn);
  const [isShown, setShown] = useState(false);
  useShortcut("sheet", () => setShown(true));
  useKeys(isOn);
  return (
    <footer className={styles.footer}>
      <Button look="quiet" onClick={() => setShown(true)}>
        {t("Keyboard shortcuts")}
      </Button>
      {isShown && (
        <Sheet
          isOn={isOn}
          onTurn={(chosen) => {
            turn(chosen);
            setOn(chosen);
          }}
          onClose={() => setShown(false)}
        />
      )}
    </footer>
  );
}

/** Does what the keys say, while nobody types and no dialog waits for an answer. */
function useKeys(isOn: boolean): void {
  const navigate = useNavigate();
  const { pathname: path } = useLocation();
  const mayCreate = useMe().role !== "observer";
  useEffect(() => {
    if (!isOn) return undefined;
    let before: readonly string[] = [];
    let last = 0;
    const follow = ({ leads, does }: Shortcut): boolean => {
      const address = leads?.({ path, mayCreate });
      if (address) void navigate(address);
      return Boolean(address) || (does !== undefined && done(does));
    };
    const onKey = (event: KeyboardEvent) => {
      if (!isPlain(event) || isField(event.target) || document.querySelector("dialog[open]")) return;
      const [now, found] = pressed(event.timeStamp - last < PATIENCE ? before : [], event.key);
      [before, last] = [now, event.timeStamp];
      if (found && follow(found)) event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isOn, navigate, path, mayCreate]);
}

interface SheetProps {
  isOn: boolean;
  onTurn: (isOn: boolean) => void;
  onClose: () => void;
}

function Sheet({ isOn, onTurn, onClose }: SheetProps) {
  return (
    <Dialog
      title={t("Keyboard shortcuts")}
      onClose={onClose}
      actions={<Button onClick={onClose}>{t("Close")}</Button>}
    >
      <CheckField
        label={t("Use these keys")}
        hint={t("Never while you type. Turn them off if a screen reader or speech control needs the keys.")}
        checked={isOn}
        onChange={onTurn}
      />
      <div className={styles.groups}>
        {GROUPS.map(({ title, shortcuts }) => (
          <section key={title()} className={styles.group}>
            <h3>{title()}</h3>
            <dl>
              {shortcuts.map(({ keys, words }) => (
                <div key={keys}>
                  <dt>
                    <Keys keys={keys} />
                  </dt>
                  <dd>{words()}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

/** Keys as they are pressed: one, then the next. */
function Keys({ keys }: { keys: string }) {
  return keys.split(" ").map((key, index) => (
    <span key={index}>
      {index > 0 && ` ${t("then")} `}
      <kbd>{key}</kbd>
    </span>
  ));
}
