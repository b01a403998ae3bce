import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useState } from "react";
import { Dialog } from "../ui/dialogs/Dialog.tsx";
import { Icon } from "../ui/Icon.tsx";
import { isComposing } from "../ui/is-composing.ts";
import classes from "./Palette.module.css";
import { type Place, usePlaces } from "./places.ts";

/** ⌘K: goes to a page, a queue, a workflow, or to what an id names. */
export function Palette({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      yOffset="12vh"
      centered={false}
      title="Go to"
      classNames={{ header: classes.header ?? "" }}
    >
      <Search onClose={onClose} />
    </Dialog>
  );
}

function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const places = usePlaces(text);
  const navigate = useNavigate();
  const go = (place: Place | undefined) => {
    if (!place) return;
    onClose();
    void navigate({ to: place.to, params: place.params, search: place.search ?? {} });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event)) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setAt((places.length + at + step) % Math.max(1, places.length));
    else if (event.key === "Enter") go(places[at]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className={classes.field}>
        <Icon name="search" />
        <input
          className={classes.input}
          role="combobox"
          aria-expanded="true"
          aria-controls="places"
          aria-activedescendant={places[at] && `place-${at}`}
          aria-label="Go to a page, a queue, a workflow or an id"
          placeholder="Go to a page, a queue, a workflow, or paste an id"
          value={text}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
          data-autofocus
        />
      </div>
      <div id="places" role="listbox" aria-label="Places" className={classes.places}>
        {places.map((place, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys.
          <div
            key={place.key}
            id={`place-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className={classes.place}
            onClick={() => go(place)}
            onPointerMove={() => setAt(index)}
          >
            <Icon name={place.icon} />
            <span className={classes.name}>{place.name}</span>
            <span className={classes.what}>{place.what}</span>
          </div>
        ))}
      </div>
      {places.length === 0 && <p className={classes.nothing}>Nothing has this name or id.</p>}
    </>
  );
}
