// Package argohealth runs health scripts as Argo CD does.
//
// The engine is the library that Argo CD 3.5 uses, in the same version, opened in the same way: Argo CD's own package for it cannot be
// imported, because the module of its gitops engine is replaced by a folder of its repository. What matters for a script: there are the
// libraries base and table, but no string, math or io; os has to be required and has only time and date; and it must end within a second.
package argohealth

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Health is what a script says of an object.
type Health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// What Argo CD takes; another word would become Unknown.
var known = map[string]bool{"Healthy": true, "Progressing": true, "Degraded": true, "Suspended": true, "Missing": true, "Unknown": true}

// Run runs a script over an object.
func Run(script string, object map[string]any) (Health, error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	libraries := []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}}
	for _, library := range libraries {
		l.Push(l.NewFunction(library.open))
		l.Push(lua.LString(library.name))
		if err := l.PCall(1, 0, nil); err != nil {
			return Health{}, err
		}
	}
	l.PreloadModule(lua.OsLibName, safeOS)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", value(l, object))
	if err := l.DoString(script); err != nil {
		return Health{}, err
	}
	table, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return Health{}, fmt.Errorf("the script returned %s, not a table", l.Get(-1).Type())
	}
	status, ok := table.RawGetString("status").(lua.LString)
	if !ok || !known[string(status)] {
		return Health{}, fmt.Errorf("%q is no health", table.RawGetString("status").String())
	}
	message, ok := table.RawGetString("message").(lua.LString)
	if !ok || message == "" {
		return Health{}, fmt.Errorf("%s comes without a message", status)
	}
	return Health{string(status), string(message)}, nil
}

// The two functions of the library os that Argo CD gives to scripts.
func safeOS(l *lua.LState) int {
	whole := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer whole.Close()
	lua.OpenOs(whole)
	all := whole.GetGlobal(lua.OsLibName).(*lua.LTable)
	safe := l.NewTable()
	for _, name := range []string{"time", "date"} {
		safe.RawSetString(name, l.NewFunction(all.RawGetString(name).(*lua.LFunction).GFunction))
	}
	l.Push(safe)
	return 1
}

// A JSON value, in Lua.
func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(value(l, item))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(l, item))
		}
		return table
	}
	return lua.LNil
}
